import { describe, expect, it } from "vitest";

import { detailOf, lookAgainMs, type ServerStatus } from "./status";

const server = (status: ServerStatus["status"], detail: string, disabled = false) => ({
  status,
  status_detail: detail,
  disabled,
});

describe("a server's status", () => {
  it.each([
    ["ready", { state: "ready", reason: "" }],
    [
      "backoff: no answer: connection refused",
      { state: "backoff", reason: "no answer: connection refused" },
    ],
    ["authentication required: 401", { state: "authRequired", reason: "401" }],
    ["something new", { state: null, reason: "something new" }],
    ["constructor: x", { state: null, reason: "constructor: x" }],
  ])("%j is a state and a reason", (text, expected) => {
    expect(detailOf(text)).toEqual(expected);
  });

  it("is looked at sooner while something connects than while it fails, and then at rest", () => {
    const connecting = server("disconnected", "connecting");
    const failing = server("error", "backoff: refused");
    const atRest = server("connected", "ready");
    const off = server("error", "disabled", true);
    const times = [[connecting, failing], [failing, atRest], [atRest, off], []].map(lookAgainMs);
    expect(times).toEqual([2_000, 5_000, 15_000, 15_000]);
  });
});
