/** A difference line by line; added and removed lines are told apart by sign, colour and words. */

import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

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

export function DiffLines({ text }: { text: string }) {
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
