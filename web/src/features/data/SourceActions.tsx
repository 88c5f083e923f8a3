/** What can be done with a source: ask about it, look at it anew, delete one's own. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { MessageSquareText, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { useMe } from "@/api/queries";
import { Button } from "@/components/ui/Button";
import { ConfirmDialog } from "@/components/ui/Dialog";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";

import { mayDelete, mayRefresh } from "./ownership";
import { deleteSource, refreshSource, type Source } from "./queries";
import { useAskAbout } from "./useAskAbout";

export function SourceActions({ source }: { source: Source }) {
  const { t } = useTranslation("data");
  const me = useMe();
  const askAbout = useAskAbout();
  return (
    <>
      {mayDelete(source) && <DeleteButton source={source} />}
      {mayRefresh(me) && <RefreshSource source={source} />}
      <Button variant="primary" onClick={() => askAbout(source.name)}>
        <MessageSquareText className="size-4" aria-hidden />
        {t("ask")}
      </Button>
    </>
  );
}

function RefreshSource({ source }: { source: Source }) {
  const { t } = useTranslation("data");
  const client = useQueryClient();
  const errorText = useErrorText();
  const refresh = useMutation({
    mutationFn: () => refreshSource(source.source_id),
    onSuccess: async (summary) => {
      await client.invalidateQueries({ queryKey: ["sources", source.source_id] });
      if (summary.problem === null) toast(t("refreshed"));
    },
    onError: (error) => toast(errorText(error), { tone: "danger" }),
  });
  return (
    <Button isBusy={refresh.isPending} onClick={() => refresh.mutate()}>
      {!refresh.isPending && <RefreshCw className="size-4" aria-hidden />}
      {t("refresh", { ns: "common" })}
    </Button>
  );
}

function DeleteButton({ source }: { source: Source }) {
  const { t } = useTranslation("data");
  const [isAsking, setIsAsking] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const errorText = useErrorText();
  const remove = useMutation({
    mutationFn: () => deleteSource(source.source_id),
    onSuccess: async () => {
      await navigate({ to: "/data" });
      toast(t("deleted", { name: source.name }));
      await client.invalidateQueries({ queryKey: ["sources"] });
    },
    onError: (error) => {
      setIsAsking(false);
      toast(errorText(error), { tone: "danger" });
    },
  });
  return (
    <>
      <Button variant="danger" onClick={() => setIsAsking(true)}>
        <Trash2 className="size-4" aria-hidden />
        {t("delete", { ns: "common" })}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title={t("deleteTitle", { name: source.name })}
        text={t("deleteText")}
        confirm={t("delete", { ns: "common" })}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate()}
        onClose={() => setIsAsking(false)}
      />
    </>
  );
}
