/**
 * Figures of an answer → their places in the parsed text. Pure.
 *
 * The server counts code points of the source; a syntax tree counts UTF-16 units of a block. A
 * figure is marked only where its very text stands, never in code.
 */

import type { MarkedFigure } from "@/features/artifacts/FigureMark";

export interface PlacedFigure {
  start: number; // UTF-16 units
  end: number;
  marked: MarkedFigure;
}

/**
 * Figures with offsets in `text`, in UTF-16 units and in order; those that do not fit are left out.
 */
export function placed(text: string, figures: readonly MarkedFigure[]): PlacedFigure[] {
  const ordered = figures.toSorted((a, b) => a.figure.start - b.figure.start);
  const found: PlacedFigure[] = [];
  let units = 0;
  let points = 0;
  const unitsAt = (point: number): number => {
    while (points < point && units < text.length) {
      units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
      points += 1;
    }
    return units;
  };
  let free = 0;
  for (const marked of ordered) {
    const start = unitsAt(marked.figure.start);
    const end = start + marked.figure.text.length;
    if (start < free || text.slice(start, end) !== marked.figure.text) continue;
    found.push({ start, end, marked });
    free = end;
  }
  return found;
}

/** Those inside a block, counted from its beginning. */
export function within(figures: readonly PlacedFigure[], from: number, to: number): PlacedFigure[] {
  return figures
    .filter((each) => each.start >= from && each.end <= to)
    .map((each) => ({ ...each, start: each.start - from, end: each.end - from }));
}

/** A node of a syntax tree, as far as it matters here. */
interface TreeNode {
  type: string;
  value?: string;
  children?: TreeNode[];
  position?: { start: { offset?: number }; end: { offset?: number } };
  data?: object;
}

/** A remark plugin: puts `mark` elements around figures; `data-figure` is the figure's number. */
export function remarkFigures(figures: readonly PlacedFigure[]) {
  return (tree: TreeNode, file: { toString: () => string }): void => {
    if (figures.length > 0) mark(tree, String(file), figures, new Set());
  };
}

function mark(
  parent: TreeNode,
  source: string,
  figures: readonly PlacedFigure[],
  done: Set<number>,
): void {
  if (!parent.children) return;
  let from = parent.position?.start.offset ?? 0;
  parent.children = parent.children.flatMap((node) => {
    if (node.type !== "text" || node.value === undefined) {
      mark(node, source, figures, done);
      from = node.position?.end.offset ?? from;
      return [node];
    }
    // Text that a plugin has cut out of other text has no position of its own.
    const start = node.position?.start.offset ?? source.indexOf(node.value, from);
    if (start < 0) return [node];
    const end = node.position?.end.offset ?? start + node.value.length;
    from = end;
    return marked(node.value, source.slice(start, end), start, figures, done);
  });
}

/** A text node as texts and marks. */
function marked(
  value: string,
  written: string,
  offset: number,
  figures: readonly PlacedFigure[],
  done: Set<number>,
): TreeNode[] {
  const nodes: TreeNode[] = [];
  let rest = 0;
  figures.forEach((figure, number) => {
    if (done.has(number)) return;
    const start = Math.max(figure.start - offset, 0);
    const end = Math.min(figure.end - offset, written.length);
    const text = written.slice(start, end);
    if (start >= end || !/\p{N}/u.test(text)) return;
    const at = written === value ? start : sameOccurrence(value, written, text, start);
    if (at < rest) return;
    if (at > rest) nodes.push({ type: "text", value: value.slice(rest, at) });
    const data = { hName: "mark", hProperties: { dataFigure: String(number) } };
    nodes.push({ type: "figure", data, children: [{ type: "text", value: text }] });
    rest = at + text.length;
    done.add(number);
  });
  if (rest < value.length || nodes.length === 0)
    nodes.push({ type: "text", value: value.slice(rest) });
  return nodes;
}

/**
 * Where the occurrence of `text` at `start` of what was written stands in what it means (`\*`,
 * `&amp;`).
 */
function sameOccurrence(value: string, written: string, text: string, start: number): number {
  let nth = 0;
  for (let at = written.indexOf(text); at >= 0 && at < start; at = written.indexOf(text, at + 1))
    nth += 1;
  let found = value.indexOf(text);
  for (; nth > 0 && found >= 0; nth -= 1) found = value.indexOf(text, found + 1);
  return found;
}
