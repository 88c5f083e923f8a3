/** The arguments of a call: code as code, the rest as a list of names and values. */

import type { JsonObject } from "@/events/types";

import { LongText } from "./LongText";
import { shownArguments } from "./values";

const TITLES: Readonly<Record<string, string>> = { sql: "SQL", python: "Python", bash: "Shell" };

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
