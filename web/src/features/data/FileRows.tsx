/** The files that are to be sent, each with what is wrong with it. */

import { CircleAlert, FileSpreadsheet, X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/Button";
import { formatBytes } from "@/lib/format";

import type { ChosenFile } from "./files";

interface FileRowsProps {
  chosen: ChosenFile[];
  maxBytes: number;
  /** What the server said of one of them. */
  refused: { name: string; text: string } | null;
  isDisabled: boolean;
  onRemove: (file: File) => void;
}

export function FileRows({ chosen, maxBytes, refused, isDisabled, onRemove }: FileRowsProps) {
  const { t } = useTranslation("data");
  const problemOf = ({ file, problem }: ChosenFile) => {
    if (problem !== null) return t(`fileProblems.${problem}`, { most: formatBytes(maxBytes) });
    return refused?.name === file.name ? refused.text : null;
  };
  return (
    <ul aria-label={t("chosenFiles")} className="grid gap-1">
      {chosen.map((each, at) => {
        const problem = problemOf(each);
        const Icon = problem === null ? FileSpreadsheet : CircleAlert;
        return (
          <li key={at} className="flex items-center gap-2 rounded-lg bg-sunken py-1 pr-1 pl-3">
            <Icon
              className={`size-4 shrink-0 ${problem === null ? "text-muted" : "text-danger"}`}
              aria-hidden
            />
            <div className="min-w-0 flex-1 text-sm">
              <p className="truncate" title={each.file.name}>
                {each.file.name} <span className="text-muted">{formatBytes(each.file.size)}</span>
              </p>
              {problem !== null && (
                <p role="alert" className="text-xs text-danger [overflow-wrap:anywhere]">
                  {problem}
                </p>
              )}
            </div>
            <IconButton
              isSmall
              icon={X}
              disabled={isDisabled}
              label={t("removeFile", { name: each.file.name })}
              onClick={() => onRemove(each.file)}
            />
          </li>
        );
      })}
    </ul>
  );
}
