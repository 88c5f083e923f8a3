/** A unified diff by lines. Pure. */

export type DiffLine = { kind: "added" | "removed" | "place" | "same" | "note"; text: string };

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
