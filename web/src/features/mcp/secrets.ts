/**
 * Names with secret values, as rows of a form ↔ the map that is sent.
 *
 * The server never shows a value: a mask stands in its place, and sending the mask back keeps what
 * is stored under that name. A map that is sent replaces the whole map.
 */

import { newId } from "@/lib/ids";

export const MASK = "••••";

export interface SecretRow {
  id: string;
  name: string;
  /** What was typed; empty keeps what is stored. */
  value: string;
  /** The name under which the server has a value, or null. */
  storedAs: string | null;
}

export type RowProblem = "name" | "value" | "twice";

export function newRow(name = "", value = ""): SecretRow {
  return { id: newId(), name, value, storedAs: null };
}

export function rowsOf(masked: Record<string, string>): SecretRow[] {
  return Object.keys(masked).map((name) => ({ id: newId(), name, value: "", storedAs: name }));
}

/**
 * Whether the stored value stays: nothing typed, and the name is still the one it is stored under.
 */
export function isKept(row: SecretRow): boolean {
  return row.value === "" && row.storedAs !== null && row.storedAs === row.name.trim();
}

/** Rows as they are sent; empty rows are left out. */
export function mapOf(rows: readonly SecretRow[]): Record<string, string> {
  const filled = rows.filter((row) => !isBlank(row));
  return Object.fromEntries(filled.map((row) => [row.name.trim(), isKept(row) ? MASK : row.value]));
}

/** Whether the rows say something else than what is stored. */
export function hasChanged(rows: readonly SecretRow[], stored: Record<string, string>): boolean {
  const sent = mapOf(rows);
  const names = Object.keys(sent);
  if (names.length !== Object.keys(stored).length) return true;
  return names.some((name) => !(name in stored) || sent[name] !== MASK);
}

/** What is wrong, by row id. */
export function rowProblems(rows: readonly SecretRow[]): Map<string, RowProblem> {
  const problems = new Map<string, RowProblem>();
  const seen = new Set<string>();
  for (const row of rows.filter((each) => !isBlank(each))) {
    const name = row.name.trim();
    if (name === "") problems.set(row.id, "name");
    else if (seen.has(name)) problems.set(row.id, "twice");
    else if (row.value === "" && !isKept(row)) problems.set(row.id, "value");
    seen.add(name);
  }
  return problems;
}

function isBlank(row: SecretRow): boolean {
  return row.name.trim() === "" && row.value === "";
}
