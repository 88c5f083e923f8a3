import { describe, expect, it } from "vitest";

import { exportUrl, isFiltered, NO_FILTER, queryOf } from "./auditFilter";

describe("a filter of the audit log", () => {
  it("asks for everything when nothing is chosen", () => {
    expect(queryOf(NO_FILTER, 0)).toEqual({ limit: 50, offset: 0 });
    expect(isFiltered(NO_FILTER)).toBe(false);
  });

  it("asks for what is chosen, without the spaces around it", () => {
    const filter = {
      userId: "u1",
      action: " login ",
      outcome: "denied",
      runId: " r1",
      from: "2026-03-01T10:00",
      to: "2026-03-01T11:30",
    };
    expect(queryOf(filter, 100)).toEqual({
      limit: 50,
      offset: 100,
      user_id: "u1",
      action: "login",
      outcome: "denied",
      run_id: "r1",
      from: new Date(2026, 2, 1, 10, 0).toISOString(),
      to: new Date(2026, 2, 1, 11, 30).toISOString(),
    });
    expect(isFiltered(filter)).toBe(true);
  });

  it("names the file of everything that fits, on no page", () => {
    expect(exportUrl({ ...NO_FILTER, action: "a&b" }, "jsonl")).toBe(
      "/api/v1/audit/export?format=jsonl&action=a%26b",
    );
  });

  it("leaves out what the route does not know", () => {
    const odd = { ...NO_FILTER, outcome: "perhaps", action: "   ", from: "not a time" };
    expect(queryOf(odd, 0)).toEqual({ limit: 50, offset: 0 });
  });
});
