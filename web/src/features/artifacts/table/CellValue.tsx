/** A value of a result. No value is shown as such, and is not an empty text. */

import type { Json } from "@/events/types";

import { shownText } from "../cells";

export function CellValue({ value }: { value: Json | undefined }) {
  const text = shownText(value);
  if (text === null) return <span className="text-muted italic">NULL</span>;
  return text;
}
