/** What a tool says of itself: its description, and on demand what goes in and comes out. */

import { ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { McpTool } from "./queries";

export function ToolDefinition({ tool }: { tool: McpTool }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  return (
    <details className="group text-xs">
      <summary className="flex list-none items-start gap-1 text-muted [&::-webkit-details-marker]:hidden">
        <ChevronRight
          className="mt-0.5 size-3.5 shrink-0 transition-transform group-open:rotate-90"
          aria-hidden
        />
        <span className="line-clamp-2 [overflow-wrap:anywhere] group-open:line-clamp-none">
          {tool.description || mcp("noDescription")}
        </span>
      </summary>
      <div className="grid gap-2 pt-2">
        <Schema title={t("tools.input")} schema={tool.input_schema} />
        {tool.output_schema !== null && (
          <Schema title={t("tools.output")} schema={tool.output_schema} />
        )}
      </div>
    </details>
  );
}

function Schema({ title, schema }: { title: string; schema: object }) {
  return (
    <div>
      <p className="text-muted">{title}</p>
      <pre
        tabIndex={0}
        className="max-h-48 overflow-auto rounded-md bg-sunken p-2 font-mono whitespace-pre-wrap"
      >
        {JSON.stringify(schema, null, 2)}
      </pre>
    </div>
  );
}
