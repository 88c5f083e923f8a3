// @vitest-environment happy-dom
/** A key that someone else has made is told to its user. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it } from "vitest";

import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { loadLaterTexts, setLanguage, startI18n } from "@/i18n";

import { ApiKeys } from "./ApiKeys";

const server = loopback();

beforeAll(async () => {
  await startI18n();
  await loadLaterTexts();
  await setLanguage("en");
});
afterEach(() => {
  cleanup();
  queryClient.clear();
});

function show(keys: { name: string; created_by: string; is_by_other: boolean }[]) {
  const rest = { prefix: "dak_1", created_at: "2026-01-01T00:00:00Z", last_used: null };
  const items = keys.map((key) => ({ ...rest, ...key, id: key.name }));
  server.answer = () => ({ body: { items, total: items.length } });
  render(
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <ApiKeys />
      </TooltipProvider>
    </QueryClientProvider>,
  );
}

it("names who has made a key for the user, and warns", async () => {
  show([
    { name: "mine", created_by: "dora", is_by_other: false },
    { name: "theirs", created_by: "root", is_by_other: true },
  ]);
  expect(await screen.findByText("Made by root")).toBeTruthy();
  expect(screen.getByRole("status").textContent).toContain("Someone else has made a key");
  expect(screen.queryByText("Made by dora")).toBeNull();
});

it("does not warn of the user's own keys", async () => {
  show([{ name: "mine", created_by: "dora", is_by_other: false }]);
  expect(await screen.findByText("mine")).toBeTruthy();
  expect(screen.queryByRole("status")).toBeNull();
});
