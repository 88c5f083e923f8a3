/** What agents have noted about the user: to read and to delete. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { queryClient } from "@/api/queries";
import { Button } from "@/components/ui/Button";
import { ConfirmDialog } from "@/components/ui/Dialog";
import { Card } from "@/components/ui/Page";
import { ErrorState, LoadingState } from "@/components/ui/States";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";

import { NoteLine } from "./NoteLine";
import { memoryQuery } from "./queries";

export type MemoryNote = Schemas["MemoryInfo"];

export function Memory({ userId }: { userId: string }) {
  const { t } = useTranslation("settings");
  const errorText = useErrorText();
  const memory = useQuery(memoryQuery(userId));
  const [doomed, setDoomed] = useState<MemoryNote | "all" | null>(null);
  const erasing = useMutation({
    mutationFn: (note: MemoryNote | "all") => erase(userId, note),
    onSuccess: () => toast(t("memory.erased")),
    onError: (error) => toast(errorText(error), { tone: "danger" }),
    onSettled: async () => {
      setDoomed(null);
      await queryClient.invalidateQueries({ queryKey: memoryQuery(userId).queryKey });
    },
  });
  const notes = memory.data?.items ?? [];
  const isAll = doomed === "all";
  const name = doomed === null || isAll ? "" : doomed.path;
  return (
    <Card
      title={t("memory.title")}
      actions={
        notes.length > 0 && (
          <Button size="small" variant="danger" onClick={() => setDoomed("all")}>
            {t("memory.eraseAll")}
          </Button>
        )
      }
    >
      <p className="text-sm text-muted">{t("memory.text")}</p>
      {memory.isPending && <LoadingState lines={2} />}
      {memory.isError && <ErrorState error={memory.error} onRetry={() => void memory.refetch()} />}
      {memory.isSuccess && notes.length === 0 && (
        <p className="mt-3 text-sm">{t("memory.empty")}</p>
      )}
      <ul className="mt-2 divide-y divide-line">
        {notes.map((note) => (
          <NoteLine
            key={`${note.assistant_id}/${note.path}`}
            userId={userId}
            note={note}
            onErase={() => setDoomed(note)}
          />
        ))}
      </ul>
      <ConfirmDialog
        isOpen={doomed !== null}
        title={isAll ? t("memory.eraseAllTitle") : t("memory.eraseTitle")}
        text={isAll ? t("memory.eraseAllText") : t("memory.eraseText", { name })}
        confirm={isAll ? t("memory.eraseAll") : t("memory.erase", { name })}
        isBusy={erasing.isPending}
        onConfirm={() => doomed && erasing.mutate(doomed)}
        onClose={() => setDoomed(null)}
      />
    </Card>
  );
}

async function erase(userId: string, note: MemoryNote | "all"): Promise<void> {
  if (note === "all") {
    const params = { path: { user_id: userId } };
    await call(api.DELETE("/api/v1/users/{user_id}/memory", { params }));
    return;
  }
  const { assistant_id, path } = note;
  const params = { path: { user_id: userId, assistant_id, path } };
  await call(api.DELETE("/api/v1/users/{user_id}/memory/{assistant_id}/{path}", { params }));
}
