/** Save a file of the server. A refusal is an error here, not a broken file on the user's disk. */

import { ApiError, tellSignedOut } from "@/api/client";

import { isObject } from "./previews";

export async function download(url: string): Promise<void> {
  await tryUrl(url);
  save(url);
}

/** Save a file that is known to be there. */
export function save(url: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = "";
  document.body.append(link);
  link.click();
  link.remove();
}

/** Ask for the file and leave once it begins: only then is it known that there is one. */
async function tryUrl(url: string): Promise<void> {
  const leaving = new AbortController();
  let response: Response;
  try {
    response = await fetch(url, { credentials: "same-origin", signal: leaving.signal });
  } catch {
    throw new ApiError(0, "unreachable", "The server cannot be reached.");
  }
  if (response.ok) {
    leaving.abort();
    return;
  }
  if (response.status === 401) tellSignedOut();
  const body: unknown = await response.json().catch(() => null);
  const message = isObject(body) ? body["message"] : null;
  const text = typeof message === "string" ? message : response.statusText;
  throw new ApiError(response.status, "error", text);
}
