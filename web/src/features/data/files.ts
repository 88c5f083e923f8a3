/** Files that are to become tables, looked at before they are sent. Pure. */

import { ApiError } from "@/api/client";

export const EXTENSIONS = [".csv", ".tsv", ".txt", ".xlsx", ".xls", ".parquet", ".json"];
export const MAX_FILES = 20;

type FileProblem = "kind" | "size" | "empty" | "twice";

export interface ChosenFile {
  file: File;
  problem: FileProblem | null;
}

/** The files with what is wrong with each; a name that came before is refused. */
export function lookAt(files: File[], maxBytes: number): ChosenFile[] {
  const seen = new Set<string>();
  return files.map((file) => {
    const name = file.name.toLowerCase();
    const isTwice = seen.has(name);
    seen.add(name);
    return { file, problem: isTwice ? "twice" : problemOf(file, maxBytes) };
  });
}

function problemOf(file: File, maxBytes: number): FileProblem | null {
  if (!EXTENSIONS.some((extension) => file.name.toLowerCase().endsWith(extension))) return "kind";
  if (file.size > maxBytes) return "size";
  return file.size === 0 ? "empty" : null;
}

const MAX_NAME = 64;

/** A name for a source made of these files: the first one's, without its ending. */
export function suggestedName(files: File[]): string {
  const [first] = files;
  const stem = first?.name.replace(/\.[^.]+$/, "") ?? "";
  return stem
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}_-]+/gu, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, MAX_NAME);
}

/** One file was not taken; `reason` is what the server said of it. */
export class FileRefused extends Error {
  override readonly name = "FileRefused";

  constructor(
    readonly filename: string,
    readonly reason: ApiError,
  ) {
    super(reason.message);
  }
}

/** The file that a refusal speaks of; null: it is about all of them. */
export function blamedFile(error: unknown, files: File[]): string | null {
  if (error instanceof FileRefused) return error.filename;
  if (!(error instanceof ApiError)) return null;
  const { details, message } = error;
  if (typeof details === "object" && details !== null && "file" in details) {
    const named = files.find((file) => file.name === details.file);
    if (named) return named.name;
  }
  const named = files.filter((file) => message.includes(`'${file.name}'`));
  return named.length === 1 ? (named[0]?.name ?? null) : null;
}
