import { describe, expect, it } from "vitest";

import { checksOf, noticesOf, spanOf, type SystemInfo } from "./checks";

const WELL: SystemInfo = {
  status: "ready",
  checks: { database: "ok", migrations: "ok" },
  uptime: 10,
  versions: { dataagent: "1", python: "3" },
  model: "openai:x",
  is_offline: false,
  database: "sqlite",
  runs_in: "web",
  runs: { active: 0, queued: null },
  connections: { used: 3, limit: 200 },
  sandbox: { kind: "bubblewrap", ready: 1, in_use: 0 },
  mcp: { servers: 1, connected: 1, failing: [] },
};

describe("checks", () => {
  it("put what is wrong first, with advice where there is some", () => {
    expect(checksOf({ bus: "ok", workers: "none is running", comet: "far" })).toEqual([
      { name: "comet", says: "far", isWell: false, advice: null },
      { name: "workers", says: "none is running", isWell: false, advice: "workers" },
      { name: "bus", says: "ok", isWell: true, advice: "bus" },
    ]);
  });
});

describe("notices", () => {
  it("are none when all is well", () => {
    expect(noticesOf(WELL)).toEqual([]);
    expect(noticesOf({ ...WELL, mcp: null })).toEqual([]);
  });

  it.each<[Partial<SystemInfo>, string]>([
    [{ is_offline: true }, "offline"],
    [{ sandbox: null }, "noSandbox"],
    [{ mcp: { servers: 2, connected: 1, failing: ["files"] } }, "mcpFailing"],
    [{ connections: { used: 180, limit: 200 } }, "connectionsFull"],
    [{ runs: { active: 1, queued: 20 } }, "queueLong"],
  ])("for %j are %s", (change, notice) => {
    expect(noticesOf({ ...WELL, ...change })).toEqual([notice]);
  });
});

describe("a time span", () => {
  it("is days, hours and minutes", () => {
    expect(spanOf(2 * 86_400 + 3 * 3600 + 4 * 60 + 59)).toEqual({
      unit: "days",
      days: 2,
      hours: 3,
      minutes: 4,
    });
    expect(spanOf(3600)).toEqual({ unit: "hours", days: 0, hours: 1, minutes: 0 });
    expect(spanOf(59)).toEqual({ unit: "minutes", days: 0, hours: 0, minutes: 0 });
  });
});
