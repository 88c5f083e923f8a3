/** The figures of a finished answer, by the part of the text they stand in. Pure. */

import { codePoints, type Part } from "@/events/state";
import type { Figures } from "@/events/types";
import type { MarkedFigure } from "@/features/artifacts/FigureMark";

/** Part key → its figures, with offsets in the part's own text (code points). */
export function figuresByPart(
  parts: readonly Part[],
  figures: Figures | null,
): ReadonlyMap<number, MarkedFigure[]> {
  const found = new Map<number, MarkedFigure[]>();
  if (figures === null) return found;
  const all: MarkedFigure[] = [
    ...figures.verified.map((figure) => ({ isVerified: true as const, figure })),
    ...figures.unbacked.map((figure) => ({ isVerified: false as const, figure })),
  ];
  for (const part of parts) {
    if (part.kind !== "text" || part.agent !== null) continue;
    const length = codePoints(part.content);
    const inside = all.flatMap((marked) => shifted(marked, part.start, length));
    if (inside.length > 0) found.set(part.key, inside);
  }
  return found;
}

/** The figure counted from where a part begins; nothing if it is not inside. */
function shifted(marked: MarkedFigure, from: number, length: number): MarkedFigure[] {
  const start = marked.figure.start - from;
  const end = marked.figure.end - from;
  if (start < 0 || end > length) return [];
  return [
    marked.isVerified
      ? { isVerified: true, figure: { ...marked.figure, start, end } }
      : { isVerified: false, figure: { ...marked.figure, start, end } },
  ];
}
