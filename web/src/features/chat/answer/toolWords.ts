/** A tool's name in words. Pure but for the translation. */

import type { TFunction } from "i18next";

import type { answer } from "@/i18n/en/answer";

type KnownTool = keyof (typeof answer)["tools"];

/** What the call does, in words; a tool that is not ours by its own name. */
export function toolWords(name: string, t: TFunction<"answer">): string {
  const known: string = t(`tools.${name as KnownTool}`, { defaultValue: "" }); // an unknown key gives ""
  if (known !== "") return known;
  const [alias, ...rest] = name.split("__");
  if (rest.length > 0) return `${spaced(rest.join("__"))} · ${alias ?? ""}`;
  return spaced(name);
}

/** The kind of a call: its tool in words, and what a command or request begins with. */
export function kindWords(kind: string, t: TFunction<"answer">): string {
  const [, tool = kind, begin] = /^(.+?): (.+)$/s.exec(kind) ?? [];
  return begin === undefined ? toolWords(tool, t) : `${toolWords(tool, t)}: ${begin} …`;
}

type KnownApproval = keyof (typeof answer)["approval"]["about"];

/**
 * What approving a call means, in the user's language; of a tool that is not ours as the server
 * says it.
 */
export function approvalWords(
  { name, description }: { name: string; description: string },
  t: TFunction<"answer">,
): string {
  const key = `approval.about.${name as KnownApproval}` as const;
  return t(key, { defaultValue: description });
}

function spaced(name: string): string {
  const words = name.replace(/[_-]+/g, " ").trim();
  return words === "" ? name : words.charAt(0).toUpperCase() + words.slice(1);
}
