/** The seconds a tool may take; empty is its server's. Kept when the field is left, or on Enter. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Input } from "@/components/ui/Input";

import type { McpTool } from "./queries";

interface TimeLimitProps {
  tool: McpTool;
  onChange: (seconds: number | null) => void;
}

const MOST_SECONDS = 3600;

export function TimeLimit({ tool, onChange }: TimeLimitProps) {
  const { t } = useTranslation("mcpAdmin");
  const { t: mcp } = useTranslation("mcp");
  const [text, setText] = useState(tool.timeout === null ? "" : String(tool.timeout));
  const seconds = text.trim() === "" ? null : Number(text);
  const isWrong = seconds !== null && !(seconds > 0 && seconds <= MOST_SECONDS);
  const keep = () => {
    if (!isWrong && seconds !== tool.timeout) onChange(seconds);
  };
  return (
    <>
      <Input
        className="w-24"
        inputMode="decimal"
        aria-label={t("tools.timeoutOf", { name: tool.name })}
        placeholder={t("tools.serverTimeout")}
        value={text}
        aria-invalid={isWrong || undefined}
        disabled={tool.status === "removed"}
        onChange={(event) => setText(event.target.value)}
        onBlur={keep}
        onKeyDown={(event) => event.key === "Enter" && keep()}
      />
      {isWrong && (
        <p role="alert" className="text-xs text-danger">
          {mcp("problems.badSeconds")}
        </p>
      )}
    </>
  );
}
