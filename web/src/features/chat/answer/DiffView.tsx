/** What changed in a file, line by line. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { formatNumber } from "@/lib/format";

import { diffLines, type DiffLine } from "./diff";

const FEW = 200;

const LOOKS: Record<DiffLine["kind"], string> = {
  added: "bg-good-soft text-good",
  removed: "bg-danger-soft text-danger",
  place: "text-muted",
  same: "",
  note: "text-muted italic",
};

export function DiffView({ diff, path }: { diff: string; path: string }) {
  const { t } = useTranslation("answer");
  const [isWhole, setIsWhole] = useState(false);
  const lines = diffLines(diff);
  const shown = isWhole ? lines : lines.slice(0, FEW);
  return (
    <div className="pb-2">
      <pre
        role="group"
        tabIndex={0}
        aria-label={t("file.diff", { path })}
        className="max-h-96 overflow-auto rounded-lg border border-line bg-sunken py-1 font-mono text-[13px] leading-normal"
      >
        <code className="grid w-max min-w-full">
          {shown.map((line, at) => (
            <span key={at} className={`px-3 ${LOOKS[line.kind]}`}>
              {line.text === "" ? " " : line.text}
            </span>
          ))}
        </code>
      </pre>
      {lines.length > shown.length && (
        <Button size="small" variant="ghost" onClick={() => setIsWhole(true)}>
          {t("file.allLines", { count: formatNumber(lines.length) })}
        </Button>
      )}
    </div>
  );
}
