import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { serverNow, setServerTime } from "./clock";

beforeEach(() => vi.useFakeTimers({ toFake: ["Date"], now: 1_700_000_000_000 }));
afterEach(() => {
  setServerTime(Date.now() / 1000);
  vi.useRealTimers();
});

it("is the browser's until the server has said its own", () => {
  expect(serverNow()).toBe(1_700_000_000);
});

it("follows the server's clock, however far the browser's is off", () => {
  setServerTime(1_700_000_600);
  vi.setSystemTime(1_700_000_060_000);
  expect(serverNow()).toBe(1_700_000_660);
});
