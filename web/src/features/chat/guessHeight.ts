/** About how tall a turn is before it has been rendered, so that the scroll bar is nearly right. */

import type { Part, Turn } from "@/events/state";

const LINE_PX = 24;
const LINE_CHARACTERS = 90;
const FRAME_PX = 120; // the question's bubble, the spaces, the answer's buttons

const PART_PX: Record<Exclude<Part["kind"], "text">, number> = {
  thinking: 40,
  tool: 52,
  approval: 220,
  todos: 140,
  file: 60,
  artifact: 420,
  error: 90,
};

/** A turn never changes, and is asked for with every rendering of a long conversation. */
const known = new WeakMap<Turn, number>();

export function guessHeight(turn: Turn): number {
  const before = known.get(turn);
  if (before !== undefined) return before;
  const height = heightOf(turn);
  known.set(turn, height);
  return height;
}

function heightOf(turn: Turn): number {
  const parts = turn.parts.reduce(
    (sum, part) => sum + (part.kind === "text" ? textHeight(part.content) : PART_PX[part.kind]),
    0,
  );
  return FRAME_PX + textHeight(turn.question?.content ?? "") + parts;
}

function textHeight(text: string): number {
  const lines = text.split("\n");
  return lines.reduce(
    (sum, line) => sum + LINE_PX * Math.max(1, Math.ceil(line.length / LINE_CHARACTERS)),
    0,
  );
}
