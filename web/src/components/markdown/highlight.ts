/**
 * Code → coloured pieces, for the few languages that answers use. Loaded when code is first shown.
 */

import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

const lowlight = createLowlight({
  bash,
  diff,
  javascript,
  json,
  markdown,
  python,
  sql,
  xml,
  yaml,
});
lowlight.registerAlias({ javascript: ["ts", "typescript", "tsx", "jsx"], bash: ["shell"] });

export interface Piece {
  text: string;
  look: string;
}

interface Coloured {
  type: string;
  value?: string;
  properties?: { className?: unknown };
  children?: Coloured[];
}

/** The pieces of a code in order; joined, they are the code. Null: the language is not known. */
export function highlight(code: string, language: string): Piece[] | null {
  if (!lowlight.registered(language)) return null;
  const pieces: Piece[] = [];
  collect(lowlight.highlight(language, code), "", pieces);
  return pieces;
}

function collect(node: Coloured, look: string, into: Piece[]): void {
  if (node.value !== undefined) into.push({ text: node.value, look });
  const names = node.properties?.className;
  const own = Array.isArray(names) ? names.join(" ") : look;
  for (const child of node.children ?? []) collect(child, own, into);
}
