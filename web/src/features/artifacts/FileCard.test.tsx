// @vitest-environment happy-dom
/** Which addresses a file's card asks for. */

import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it } from "vitest";

import { startI18n } from "@/i18n";

import { FileCard } from "./ArtifactCard";

beforeAll(startI18n);
afterEach(cleanup);

function show(url: string): void {
  render(<FileCard title="Plan" url={url} preview={{ size: 3, contentType: "image/png" }} />);
}

it.each(["/api/files/f1/plan.png", "/api/v1/artifacts/a1?format=png"])(
  "shows and saves a file of this server: %s",
  (url) => {
    show(url);
    expect(screen.getByRole("img").getAttribute("src")).toBe(url);
    expect(screen.getByRole("link").getAttribute("href")).toBe(url);
  },
);

it.each([
  "/api/files/%2e%2e/auth/logout",
  "/api/files/../auth/logout",
  "/api/files/f1/..",
  "/api/files/%2E./%2e%2e/login",
  "//evil.example/api/files/f1",
  "https://evil.example/api/files/f1",
])("asks for nothing else: %s", (url) => {
  show(url);
  expect(screen.getByRole("region").textContent).toContain("Plan");
  expect(screen.queryByRole("img")).toBeNull();
  expect(screen.queryByRole("link")).toBeNull();
});
