import i18n from "i18next";
import { afterEach, beforeAll, expect, it } from "vitest";

import { formatDay } from "./format";

const here = process.env["TZ"];

beforeAll(() => i18n.init({ lng: "en" }));
afterEach(() => {
  if (here === undefined) delete process.env["TZ"];
  else process.env["TZ"] = here;
});

it.each(["America/Los_Angeles", "UTC", "Pacific/Auckland"])("a day is the same in %s", (zone) => {
  process.env["TZ"] = zone;
  expect(formatDay("2026-05-31")).toBe("May 31, 2026");
});
