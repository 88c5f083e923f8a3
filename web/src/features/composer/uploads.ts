/**
 * Files on their way to the server: a few at once, each with its progress, none lost when it fails.
 *
 * Knows no React and no HTTP; `useUploads` shows it, `sendFile` is the way to the server.
 */

import type { Attachment } from "@/events/state";
import { newId } from "@/lib/ids";

export interface Upload {
  id: string;
  filename: string;
  size: number;
  status: "waiting" | "sending" | "failed";
  /** 0 to 1. */
  progress: number;
  problem: unknown;
  canRetry: boolean;
}

export type SendFile = (
  file: File,
  onProgress: (progress: number) => void,
  signal: AbortSignal,
) => Promise<Attachment>;

/** A file over the limit: it is not even tried. */
export class FileTooBig extends Error {
  override readonly name = "FileTooBig";

  constructor(readonly maxBytes: number) {
    super(`The file is larger than ${maxBytes} bytes.`);
  }
}

const AT_ONCE = 3;

export class UploadQueue {
  #uploads: readonly Upload[] = [];
  readonly #files = new Map<string, File>();
  readonly #aborts = new Map<string, AbortController>();
  readonly #listeners = new Set<() => void>();

  constructor(
    private readonly send: SendFile,
    private readonly onDone: (attachment: Attachment) => void,
  ) {}

  snapshot = (): readonly Upload[] => this.#uploads;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  add(files: Iterable<File>, maxBytes: number): void {
    const added = Array.from(files, (file): Upload => {
      const isTooBig = file.size > maxBytes;
      const upload = { id: newId(), filename: file.name, size: file.size, progress: 0 };
      this.#files.set(upload.id, file);
      return isTooBig
        ? { ...upload, status: "failed", problem: new FileTooBig(maxBytes), canRetry: false }
        : { ...upload, status: "waiting", problem: null, canRetry: true };
    });
    this.#publish([...this.#uploads, ...added]);
    this.#go();
  }

  retry(id: string): void {
    this.#change(id, (upload) =>
      upload.status === "failed" && upload.canRetry
        ? { ...upload, status: "waiting", progress: 0, problem: null }
        : upload,
    );
    this.#go();
  }

  /** Take it off the list; what is on its way is broken off. */
  remove(id: string): void {
    this.#publish(this.#uploads.filter((upload) => upload.id !== id));
    this.#files.delete(id);
    this.#aborts.get(id)?.abort();
    this.#go();
  }

  /** Break off everything; what waits is not begun. */
  close(): void {
    this.#publish([]);
    this.#files.clear();
    for (const abort of this.#aborts.values()) abort.abort();
  }

  #go(): void {
    const free = AT_ONCE - this.#uploads.filter((upload) => upload.status === "sending").length;
    const next = this.#uploads.filter((upload) => upload.status === "waiting").slice(0, free);
    for (const upload of next) void this.#start(upload.id);
  }

  async #start(id: string): Promise<void> {
    const file = this.#files.get(id);
    if (file === undefined) return;
    const abort = new AbortController();
    this.#aborts.set(id, abort);
    this.#change(id, (upload) => ({ ...upload, status: "sending" }));
    try {
      const onProgress = (progress: number) =>
        this.#change(id, (upload) => ({ ...upload, progress }));
      const attachment = await this.send(file, onProgress, abort.signal);
      if (abort.signal.aborted) return;
      this.remove(id);
      this.onDone(attachment);
    } catch (problem) {
      this.#change(id, (upload) => ({ ...upload, status: "failed", problem }));
    } finally {
      this.#aborts.delete(id);
      this.#go();
    }
  }

  #change(id: string, change: (upload: Upload) => Upload): void {
    this.#publish(this.#uploads.map((upload) => (upload.id === id ? change(upload) : upload)));
  }

  #publish(uploads: readonly Upload[]): void {
    this.#uploads = uploads;
    for (const listener of this.#listeners) listener();
  }
}
