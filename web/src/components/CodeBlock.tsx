/** Code with its colours, and a button to copy it. */

import { useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";

import { CopyButton } from "@/components/ui/CopyButton";
import { classes } from "@/lib/classes";
import { own } from "@/lib/own";

import "./markdown/code.css";
import type { Piece } from "./markdown/highlight";

interface CodeBlockProps {
  code: string;
  /** As in a Markdown fence: `sql`, `python`, `json`, … or empty. */
  language: string;
  /** What the code is, in words; shown in place of the language. */
  label?: string;
}

const NAMES: Readonly<Record<string, string>> = {
  bash: "Shell",
  css: "CSS",
  html: "HTML",
  javascript: "JavaScript",
  js: "JavaScript",
  json: "JSON",
  python: "Python",
  py: "Python",
  shell: "Shell",
  sh: "Shell",
  sql: "SQL",
  typescript: "TypeScript",
  ts: "TypeScript",
  xml: "XML",
  yaml: "YAML",
  yml: "YAML",
};

/** Where the end of a line means nothing, long lines are wrapped. */
const WRAPPED = new Set(["", "sql", "json"]);

/** Code with colours, its language and a copy button. */
export function CodeBlock({ code, language, label }: CodeBlockProps) {
  const { t } = useTranslation("answer");
  const pieces = useHighlight(code, language);
  const title = label ?? own(NAMES, language.toLowerCase()) ?? (language || t("code.plain"));
  return (
    <figure
      aria-label={title}
      className="my-2 min-w-0 overflow-hidden rounded-lg border border-line bg-sunken"
    >
      <div className="flex items-center gap-2 border-b border-line py-0.5 pr-1 pl-3 text-xs text-muted">
        <span className="min-w-0 flex-1 truncate">{title}</span>
        <CopyButton text={code} label={t("code.copy", { what: title })} />
      </div>
      <pre
        tabIndex={0}
        className={classes(
          "code max-h-[32rem] overflow-auto px-3 py-2 font-mono text-[13px] leading-normal",
          WRAPPED.has(language.toLowerCase()) && "[overflow-wrap:anywhere] whitespace-pre-wrap",
        )}
      >
        <code>
          {pieces === null
            ? code
            : pieces.map(({ text, look }, at) =>
                look === "" ? (
                  text
                ) : (
                  <span key={at} className={look}>
                    {text}
                  </span>
                ),
              )}
        </code>
      </pre>
    </figure>
  );
}

type Highlighter = (code: string, language: string) => Piece[] | null;

const MOST = 30_000; // longer code stays plain: colours would cost more than they help
let loaded: Highlighter | null = null;

/** The pieces, or null while they are not known. */
function useHighlight(code: string, language: string): Piece[] | null {
  const [highlighter, setHighlighter] = useState<Highlighter | null>(() => loaded);
  const isWanted = language !== "" && code.length <= MOST;
  useEffect(() => {
    if (highlighter !== null || !isWanted) return;
    let isGone = false;
    import("./markdown/highlight").then(
      ({ highlight }) => {
        loaded = highlight;
        if (!isGone) setHighlighter(() => highlight);
      },
      () => undefined, // then it stays plain
    );
    return () => {
      isGone = true;
    };
  }, [highlighter, isWanted]);
  return useMemo(
    () => (isWanted && highlighter ? highlighter(code, language.toLowerCase()) : null),
    [code, language, highlighter, isWanted],
  );
}
