/** The arguments of a call, as they are read best. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { CodeBlock } from "@/components/CodeBlock";
import { Button } from "@/components/ui/Button";
import type { JsonObject } from "@/events/types";
import { formatNumber } from "@/lib/format";

import { cut, shownArguments } from "./values";

const TITLES: Readonly<Record<string, string>> = { sql: "SQL", python: "Python", bash: "Shell" };

/** The arguments of a call: code as code, the rest as a list of names and values. */
export function Arguments({ tool, args }: { tool: string; args: JsonObject }) {
  const { code, texts, plain } = shownArguments(tool, args);
  return (
    <div className="min-w-0">
      {plain.length > 0 && (
        <dl className="my-1 grid grid-cols-[auto_1fr] gap-x-3 gap-y-0.5 text-sm">
          {plain.map(({ name, text }) => (
            <div key={name} className="contents">
              <dt className="text-muted">{name.replaceAll("_", " ")}</dt>
              <dd className="min-w-0 [overflow-wrap:anywhere]">{text}</dd>
            </div>
          ))}
        </dl>
      )}
      {code.map((each) => (
        <LongText
          key={each.name}
          text={each.code}
          language={each.language}
          label={TITLES[each.language] ?? each.name.replaceAll("_", " ")}
        />
      ))}
      {texts.map(({ name, text }) => (
        <LongText key={name} text={text} language="" label={name.replaceAll("_", " ")} />
      ))}
    </div>
  );
}

const LINES = 24;
const CHARACTERS = 2500;

interface LongTextProps {
  text: string;
  language: string;
  label?: string;
}

/** Code or text that may be very long: first a part of it, all on demand. */
export function LongText({ text, language, label }: LongTextProps) {
  const { t } = useTranslation("answer");
  const [isWhole, setIsWhole] = useState(false);
  const few = cut(text, LINES, CHARACTERS);
  const isCut = few.length < text.length;
  return (
    <div>
      <CodeBlock
        code={isWhole || !isCut ? text : few}
        language={language}
        {...(label !== undefined && { label })}
      />
      {isCut && (
        <Button size="small" variant="ghost" onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? t("showLess") : t("showAll", { count: formatNumber(text.length) })}
        </Button>
      )}
    </div>
  );
}
