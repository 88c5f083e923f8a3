// @vitest-environment happy-dom
/** Where a login may lead. */

import { expect, test } from "vitest";

import { ownAddress } from "./ownAddress";

test.each(["/", "/data", "/chat/1?x=1#part", "/admin/sources?item=a%20b"])(
  "%s is one of ours",
  (address) => {
    expect(ownAddress(address)).toBe(address);
  },
);

test.each([
  "https://attacker.example/",
  "//attacker.example",
  "/\\attacker.example",
  "/\t/attacker.example",
  "/.//attacker.example",
  "javascript:alert(1)",
  "attacker.example",
  "",
  undefined,
  7,
])("%s is not", (address) => {
  expect(ownAddress(address)).toBeUndefined();
});
