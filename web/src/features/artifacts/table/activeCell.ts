/** Where the arrow keys lead in a grid. Pure. */

export interface CellPlace {
  row: number;
  column: number;
}

const PAGE = 20;

type Move = (at: CellPlace, end: CellPlace) => CellPlace;

const MOVES: Record<string, Move> = {
  ArrowUp: (at) => ({ ...at, row: at.row - 1 }),
  ArrowDown: (at) => ({ ...at, row: at.row + 1 }),
  ArrowLeft: (at) => ({ ...at, column: at.column - 1 }),
  ArrowRight: (at) => ({ ...at, column: at.column + 1 }),
  PageUp: (at) => ({ ...at, row: at.row - PAGE }),
  PageDown: (at) => ({ ...at, row: at.row + PAGE }),
  Home: (at) => ({ ...at, column: 0 }),
  End: (at, end) => ({ ...at, column: end.column }),
  "ctrl+Home": () => ({ row: 0, column: 0 }),
  "ctrl+End": (_, end) => end,
};

interface ArrowKey {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
}

function nameOf({ key, ctrlKey, metaKey }: ArrowKey): string {
  return ctrlKey || metaKey ? `ctrl+${key}` : key;
}

/** The cell a key leads to; null: the key is not for moving. `end` is the last cell. */
export function moved(at: CellPlace | null, key: ArrowKey, end: CellPlace): CellPlace | null {
  const move = MOVES[nameOf(key)];
  if (!move || end.row < 0 || end.column < 0) return null;
  if (at === null) return { row: 0, column: 0 };
  const to = move(at, end);
  return { row: within(to.row, end.row), column: within(to.column, end.column) };
}

export type CellAct = "open" | "sort" | "copy";

const ACTS: Record<string, CellAct> = { Enter: "open", s: "sort", "ctrl+c": "copy" };

/** What a key does with the cell; null: nothing, the key is the browser's. */
export function actOf(key: ArrowKey): CellAct | null {
  return ACTS[nameOf(key)] ?? null;
}

function within(value: number, most: number): number {
  return Math.min(most, Math.max(0, value));
}
