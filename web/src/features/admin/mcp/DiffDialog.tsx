/** What a server changed in a tool, and the approval of exactly what was looked at. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { ApiError, type Schemas } from "@/api/client";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";

import { useChange } from "../parts/change";
import { Loaded } from "../parts/Loaded";
import { Problem } from "../parts/Problem";
import { DiffLines } from "./DiffLines";
import { diffQuery, MCP_KEYS, registry, type McpTool } from "./queries";

interface DiffDialogProps {
  tool: McpTool;
  onClose: () => void;
}

export function DiffDialog({ tool, onClose }: DiffDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const diff = useQuery(diffQuery(tool.id));
  const approve = useChange((hash: string) => registry.approve(tool.id, hash), {
    keys: MCP_KEYS,
    done: t("review.approved", { name: tool.name }),
    onDone: onClose,
  });
  const submit = (hash: string) =>
    approve.mutate(hash, {
      onError: (error) => {
        if (isChangedAgain(error)) void diff.refetch();
      },
    });
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t("review.title", { name: tool.name })}
      description={t("review.hint")}
      width="wide"
      footer={
        <>
          <Button onClick={onClose}>{common("close")}</Button>
          <Button
            variant="primary"
            disabled={!diff.data || diff.isFetching}
            isBusy={approve.isPending}
            onClick={() => diff.data && submit(diff.data.definition_hash)}
          >
            {t("review.approve")}
          </Button>
        </>
      }
    >
      <div className="grid gap-3 pb-2">
        {isChangedAgain(approve.error) ? (
          <Banner kind="warn">{t("review.again")}</Banner>
        ) : (
          <Problem error={approve.error} />
        )}
        <Loaded query={diff}>{(data) => <Difference diff={data} />}</Loaded>
      </div>
    </Dialog>
  );
}

function isChangedAgain(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409;
}

function Difference({ diff }: { diff: Schemas["DiffInfo"] }) {
  const { t } = useTranslation("mcpAdmin");
  return (
    <>
      <p className="text-sm">
        {diff.approved === null
          ? t("review.fresh")
          : diff.changed.length === 0
            ? t("review.same")
            : t("review.changed", { fields: diff.changed.join(", ") })}
      </p>
      <DiffLines text={diff.text || JSON.stringify(diff.current, null, 2)} />
      <p className="text-xs text-muted [overflow-wrap:anywhere]">
        {t("review.hash")}: <code>{diff.definition_hash}</code>
      </p>
    </>
  );
}
