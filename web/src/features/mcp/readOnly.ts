/** Tools that say they only read: believed once somebody has approved their definition. Pure. */

import type { Schemas } from "@/api/client";

type ToolTraits = Pick<Schemas["ServerToolInfo"], "annotations" | "asks_first" | "status">;

/** Whether a person could confirm what the tool says of itself, so that its calls ask no more. */
export function awaitsConfirmation({ annotations, asks_first, status }: ToolTraits): boolean {
  const saysReadOnly =
    annotations["readOnlyHint"] === true && annotations["destructiveHint"] !== true;
  return status === "active" && asks_first && saysReadOnly;
}
