import { describe, expect, it } from "vitest";

import type { Part } from "@/events/state";

import { segments } from "./segments";

const text = (key: number, agent: string | null): Part => ({
  kind: "text",
  key,
  agent,
  content: "x",
  isFinal: true,
  start: 0,
});
const artifact = (key: number): Part => ({
  kind: "artifact",
  key,
  artifactId: "a",
  artifactKind: "table",
  title: "",
  url: "",
  preview: null,
});
const file = (key: number): Part => ({
  kind: "file",
  key,
  operation: "read",
  path: "/a",
  metrics: {},
  diff: null,
  status: "success",
});
const planning = (key: number, status: "success" | "error" = "success"): Part => ({
  kind: "tool",
  key,
  callId: "c",
  name: "write_todos",
  args: {},
  agent: null,
  status,
  result: null,
  startedAt: 0,
  endedAt: 1,
  hasWaited: false,
});
const plan = (key: number): Part => ({ kind: "todos", key, todos: [] });

/** Keys in order; those of a group in a list after its agent. */
function order(parts: Part[]): unknown[] {
  return segments(parts).map((each) =>
    each.kind === "part" ? each.key : [each.agent, ...each.parts.map((part) => part.key)],
  );
}

describe("segments", () => {
  it("puts together what agents say that work side by side", () => {
    const parts = [text(1, null), text(2, "a"), text(3, "b"), text(4, "a"), text(5, "b")];
    expect(order(parts)).toEqual([1, ["a", 2, 4], ["b", 3, 5]]);
  });

  it("begins a new group after the main agent went on", () => {
    expect(order([text(1, "a"), text(2, null), text(3, "a")])).toEqual([["a", 1], 2, ["a", 3]]);
  });

  it("leaves results outside of groups, and the group open", () => {
    expect(order([text(1, "a"), artifact(2), text(3, "a")])).toEqual([["a", 1, 3], 2]);
  });

  it("leaves out the call that made the plan, where the plan stands", () => {
    expect(order([text(1, "a"), planning(2), plan(3), text(4, "a")])).toEqual([
      ["a", 1],
      3,
      ["a", 4],
    ]);
    expect(order([planning(1)])).toEqual([1]);
    expect(order([planning(1, "error"), plan(2)])).toEqual([1, 2]);
  });

  it("counts file operations to the agent that made them", () => {
    expect(order([text(1, "a"), file(2), text(3, null), file(4)])).toEqual([["a", 1, 2], 3, 4]);
  });
});
