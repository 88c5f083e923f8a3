import { describe, expect, it, vi } from "vitest";

import { newTurn } from "@/events/history";
import type { Turn } from "@/events/state";

import { guessHeight } from "./Transcript";

const EMPTY = newTurn("run");
const text = (content: string) => ({
  ...EMPTY,
  parts: [{ kind: "text" as const, key: 1, agent: null, content, isFinal: true, start: 0 }],
});

describe("guessHeight", () => {
  it("grows with lines and with long lines", () => {
    const one = guessHeight(text("short"));
    expect(guessHeight(text("short\nshort\nshort"))).toBe(one + 2 * 24);
    expect(guessHeight(text("x".repeat(200)))).toBe(one + 2 * 24);
  });

  it("gives a table more room than a tool", () => {
    const tool = {
      kind: "tool" as const,
      key: 1,
      callId: "c",
      name: "sql_db_query",
      args: {},
      agent: null,
      status: "success" as const,
      result: null,
      startedAt: 0,
      endedAt: 1,
      hasWaited: false,
    };
    const artifact = {
      kind: "artifact" as const,
      key: 2,
      artifactId: "a",
      artifactKind: "table" as const,
      title: "t",
      url: "/",
      preview: null,
    };
    const withTool = guessHeight({ ...EMPTY, parts: [tool] });
    const withTable = guessHeight({ ...EMPTY, parts: [artifact] });
    expect(withTable).toBeGreaterThan(withTool);
    expect(guessHeight({ ...EMPTY, parts: [tool, artifact] })).toBeGreaterThan(withTable);
  });

  it("reads a turn once, however often it is asked", () => {
    const read = vi.fn(() => "a\nb");
    const turn = text("");
    const part = Object.defineProperty({ ...turn.parts[0] }, "content", { get: read });
    const asked = { ...turn, parts: [part] } as Turn;
    expect(guessHeight(asked)).toBe(guessHeight(asked));
    expect(read).toHaveBeenCalledTimes(1);
  });
});
