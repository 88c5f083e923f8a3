/** A unified diff line by line. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { formatNumber } from "@/lib/format";

const FEW = 200;

const LOOKS: Record<DiffLine["kind"], string> = {
  added: "bg-good-soft text-good",
  removed: "bg-danger-soft text-danger",
  place: "text-muted",
  same: "",
  note: "text-muted italic",
};

/** What changed in a file, line by line. */
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

type DiffLine = { kind: "added" | "removed" | "place" | "same" | "note"; text: string };

/** The lines of a diff; the names of the two files are left out, they stand above it. */
export function diffLines(diff: string): DiffLine[] {
  const lines = diff.split("\n");
  const isHeaded = lines[0]?.startsWith("--- ") === true && lines[1]?.startsWith("+++ ") === true;
  return lines.slice(isHeaded ? 2 : 0).map(lineOf);
}

function lineOf(line: string): DiffLine {
  if (line.startsWith("@@")) return { kind: "place", text: line };
  if (line.startsWith("+")) return { kind: "added", text: line };
  if (line.startsWith("-")) return { kind: "removed", text: line };
  if (line.startsWith("[")) return { kind: "note", text: line };
  return { kind: "same", text: line };
}
