/** Where the user's draft of a new conversation is kept. */

import { useMe } from "@/api/queries";

import { newDraftId } from "./drafts";

export function useNewDraftId(): string {
  return newDraftId(useMe()?.id ?? "");
}
