/**
 * One file to the server, with its progress: `fetch` cannot tell that, so `XMLHttpRequest` does.
 */

import { ApiError, refusalOf, unreachable, type Schemas } from "@/api/client";
import type { Attachment } from "@/events/state";

export function sendFile(
  file: File,
  onProgress: (progress: number) => void,
  signal: AbortSignal,
): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/files/upload");
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      const answer = parsed(request.responseText);
      if (request.status === 201) resolve(attachmentOf(answer));
      else reject(refusalOf(request, answer));
    });
    request.addEventListener("error", () => reject(unreachable()));
    request.addEventListener("abort", () => reject(new ApiError(0, "aborted", "Broken off.")));
    signal.addEventListener("abort", () => request.abort());
    const form = new FormData();
    form.append("file", file);
    request.send(form);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function attachmentOf(answer: unknown): Attachment {
  const { file_id: fileId, filename } = answer as Schemas["UploadedFile"]; // by its OpenAPI document
  return { fileId, filename };
}
