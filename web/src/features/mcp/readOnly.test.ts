import { expect, it } from "vitest";

import { awaitsConfirmation } from "./status";

const tool = { annotations: { readOnlyHint: true }, asks_first: true, status: "active" as const };

it("a tool that says it only reads can be confirmed, once", () => {
  expect(awaitsConfirmation(tool)).toBe(true);
  expect(awaitsConfirmation({ ...tool, asks_first: false })).toBe(false);
  expect(awaitsConfirmation({ ...tool, status: "quarantined" })).toBe(false);
  expect(awaitsConfirmation({ ...tool, annotations: {} })).toBe(false);
  const both = { readOnlyHint: true, destructiveHint: true };
  expect(awaitsConfirmation({ ...tool, annotations: both })).toBe(false);
});
