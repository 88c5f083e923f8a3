import { expect, it } from "vitest";

import type { ApprovalPart } from "@/events/state";

import { standingKind } from "./standing";

function asked(kind: string | undefined, more: Partial<ApprovalPart> = {}): ApprovalPart {
  return {
    kind: "approval",
    key: 1,
    requestId: "r",
    action: { name: "shell", args: {}, description: "", ...(kind !== undefined && { kind }) },
    allowed: ["approve", "reject"],
    expiresAt: null,
    state: "open",
    decision: null,
    ...more,
  };
}

it("always covers the kind of the call, not the tool", () => {
  expect(standingKind(asked("shell: git status"))).toBe("shell: git status");
});

it("always is not offered for a call without a kind, nor where approving is not", () => {
  expect(standingKind(asked(undefined))).toBeNull();
  expect(standingKind(asked("shell: git status", { allowed: ["reject"] }))).toBeNull();
});
