import { expect, test } from "vitest";

import { nameIn } from "./download";

test.each([
  [`attachment; filename="a.png"; filename*=UTF-8''a.png`, "a.png"],
  [`attachment; filename="_.png"; filename*=UTF-8''%E9%94%80%E5%94%AE.png`, "销售.png"],
  [`attachment; filename*=UTF-8''100%25.svg`, "100%.svg"],
  [`attachment; filename*=UTF-8''%E9%94`, ""],
  ["attachment", ""],
  [null, ""],
])("the name in %s", (disposition, name) => {
  expect(nameIn(disposition)).toBe(name);
});
