/** Save a file of the server. A refusal is an error here, not a broken file on the user's disk. */

import { refusalOf, unreachable } from "@/api/client";

const KEPT_MS = 60_000; // the browser has begun to write it by then

/** Save a file of any size: it goes past this page, once it is known that there is one. */
export async function download(url: string): Promise<void> {
  const leaving = new AbortController();
  await ask(url, leaving.signal);
  leaving.abort();
  save(url);
}

/** Save a file that is small and costs the server something: it is asked for once. */
export async function downloadSmall(url: string): Promise<void> {
  const response = await ask(url);
  const address = URL.createObjectURL(await response.blob());
  save(address, nameIn(response.headers.get("Content-Disposition")));
  setTimeout(() => {
    URL.revokeObjectURL(address);
  }, KEPT_MS);
}

/** Save a file that is known to be there, under the server's name for it or another. */
export function save(url: string, name = ""): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** The file's name in what the server says about it; nothing if it says none. */
export function nameIn(disposition: string | null): string {
  const found = /filename\*=UTF-8''([^;]+)/i.exec(disposition ?? "");
  try {
    return decodeURIComponent(found?.[1] ?? "");
  } catch {
    return "";
  }
}

async function ask(url: string, signal: AbortSignal | null = null): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: "same-origin", signal });
  } catch {
    throw unreachable();
  }
  if (response.ok) return response;
  throw refusalOf(response, await response.json().catch(() => null));
}
