/** What a server changed in a tool, and the approval of exactly what was looked at. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { api, ApiError, call, type Schemas } from "@/api/client";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { classes } from "@/lib/classes";

import { Problem, useChange } from "../kit/change";
import { Loaded } from "../kit/load";
import { MCP_KEYS, type McpTool } from "./queries";

const pathOf = (toolId: number) => ({ params: { path: { tool_id: toolId } } });

/** Never refetched by itself: a newer definition is refused by the server, and shown then. */
const diffQuery = (toolId: number) =>
  queryOptions({
    queryKey: ["mcp", "diff", toolId],
    queryFn: () => call(api.GET("/api/v1/mcp/tools/{tool_id}/diff", pathOf(toolId))),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });

interface DiffDialogProps {
  tool: McpTool;
  onClose: () => void;
}

export function DiffDialog({ tool, onClose }: DiffDialogProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const diff = useQuery(diffQuery(tool.id));
  const approve = useChange(
    (hash: string) => {
      const body = { definition_hash: hash };
      return call(api.POST("/api/v1/mcp/tools/{tool_id}/approve", { ...pathOf(tool.id), body }));
    },
    { keys: MCP_KEYS, done: t("review.approved", { name: tool.name }), onDone: onClose },
  );
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

const LOOKS = {
  "+": "bg-good-soft text-good",
  "-": "bg-danger-soft text-danger",
  "@": "text-muted",
} as const;

type Sign = keyof typeof LOOKS;

function signOf(line: string): Sign | null {
  if (line.startsWith("+++") || line.startsWith("---")) return "@";
  const first = line.charAt(0);
  return first === "+" || first === "-" || first === "@" ? first : null;
}

/** Added and removed lines differ by sign, colour and words. */
function DiffLines({ text }: { text: string }) {
  const { t } = useTranslation("mcpAdmin");
  const words: Record<Sign, string | null> = {
    "+": t("review.added"),
    "-": t("review.taken"),
    "@": null,
  };
  return (
    <pre
      tabIndex={0}
      className="max-h-96 overflow-auto rounded-lg border border-line bg-sunken py-2 font-mono text-xs"
    >
      {text.split("\n").map((line, at) => {
        const sign = signOf(line);
        const word = sign && words[sign];
        return (
          <div
            key={at}
            className={classes(
              "px-3 [overflow-wrap:anywhere] whitespace-pre-wrap",
              sign && LOOKS[sign],
            )}
          >
            {word && <span className="sr-only">{word}: </span>}
            {line || " "}
          </div>
        );
      })}
    </pre>
  );
}
