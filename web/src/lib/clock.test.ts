import { afterEach, expect, it } from "vitest";

import { serverNow, setServerTime } from "./clock";

afterEach(() => setServerTime(Date.now() / 1000));

it("is the browser's until the server has said its own", () => {
  expect(Math.abs(serverNow() - Date.now() / 1000)).toBeLessThan(1);
});

it("follows the server's clock, however far the browser's is off", () => {
  setServerTime(Date.now() / 1000 + 600);
  expect(Math.abs(serverNow() - Date.now() / 1000 - 600)).toBeLessThan(1);
});
