/** Files to the server, one by one, then a data source made of them. The source has copies. */

import { api, ApiError, call } from "@/api/client";
import type { Attachment } from "@/events/state";
import { sendFile } from "@/features/composer/sendFile";

import { FileRefused } from "./files";
import type { Source } from "./queries";

export interface NewSource {
  name: string;
  files: File[];
}

/**
 * Throws `FileRefused` for a file that is not taken, `ApiError` otherwise; then nothing is kept.
 */
export async function sendSource(
  { name, files }: NewSource,
  onProgress: (progress: number) => void,
  signal: AbortSignal,
): Promise<Source> {
  const total = files.reduce((sum, file) => sum + file.size, 0);
  const sent: Attachment[] = [];
  let done = 0;
  try {
    for (const file of files) {
      const tell = (part: number) => onProgress((done + part * file.size) / total);
      sent.push(await sendOne(file, tell, signal));
      done += file.size;
    }
    onProgress(1);
    return await madeOf(
      name,
      sent.map((file) => file.fileId),
      signal,
    );
  } finally {
    for (const file of sent) void forget(file.fileId);
  }
}

async function sendOne(file: File, onProgress: (part: number) => void, signal: AbortSignal) {
  try {
    return await sendFile(file, onProgress, signal);
  } catch (error) {
    const isAboutFile = error instanceof ApiError && error.status !== 0 && error.status !== 401;
    throw isAboutFile ? new FileRefused(file.name, error) : error;
  }
}

function madeOf(name: string, fileIds: string[], signal: AbortSignal): Promise<Source> {
  return call(
    api.POST("/api/v1/data-sources/upload", {
      body: { name, file_ids: fileIds },
      bodySerializer: (body) => {
        const form = new FormData();
        form.append("name", body.name);
        for (const id of body.file_ids ?? []) form.append("file_ids", id);
        return form;
      },
      signal,
    }),
  );
}

/** Best effort: what stays is listed among the user's files, where it can be deleted. */
async function forget(fileId: string): Promise<void> {
  const path = { file_id: fileId };
  await api.DELETE("/api/files/{file_id}", { params: { path } }).catch(() => null);
}
