/** What a user may do with a source. The server decides; this only hides what it would refuse. */

import type { Me } from "@/api/queries";

import type { Source } from "./queries";

/** Whether the user made it of their own files. */
export function mayDelete(source: Source): boolean {
  return source.kind === "files" && !source.is_from_config && source.is_own;
}

export function mayRefresh(me: Me | undefined): boolean {
  return me?.role === "admin";
}
