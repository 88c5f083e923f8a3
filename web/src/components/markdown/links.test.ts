import { describe, expect, it } from "vitest";

import { linkTarget } from "./links";

describe("linkTarget", () => {
  it.each([
    ["https://example.com/a?b=c#d", "example.com"],
    ["HTTP://Example.com:8080/", "example.com:8080"],
    ["https://bank.example@evil.example/", "evil.example"],
    ["https://аpple.com/", "xn--pple-43d.com"],
  ])("shows where %s leads: %s", (address, host) => {
    expect(linkTarget(address)).toMatchObject({ kind: "web", host });
  });

  it("keeps an address to write to, and nothing a link adds to the message", () => {
    expect(linkTarget("mailto:a@example.com?bcc=evil@example.com&body=x")).toEqual({
      kind: "mail",
      href: "mailto:a@example.com",
      address: "a@example.com",
    });
  });

  it.each([
    "/api/v1/artifacts/74d85cc4?format=csv",
    "/api/files/1b2c/download",
    "/api/files/1b2c/report.xlsx",
  ])("lets results and files of this server be downloaded: %s", (address) => {
    expect(linkTarget(address)).toEqual({ kind: "download", href: address });
  });

  it.each([
    undefined,
    "",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "java\nscript:alert(1)",
    " javascript:alert(1)",
    "\u0001javascript:alert(1)",
    "javascript&colon;alert(1)",
    "vbscript:msgbox(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:text/html;base64,PHNjcmlwdD4=",
    "file:///etc/passwd",
    "blob:https://example.com/1",
    "ftp://example.com/",
    "//evil.example/x",
    "/\\evil.example/x",
    "\\\\evil.example\\x",
    "/api/auth/logout",
    "/api/files/../auth/logout",
    "/api/files/1b2c/..",
    "/api/v1/artifacts/%2e%2e/%2e%2e/auth/logout",
    "/login?token=x",
    "relative/path",
    "#anchor",
    "https://",
    "mailto:",
  ])("does not follow %j", (address) => {
    expect(linkTarget(address)).toBeNull();
  });
});
