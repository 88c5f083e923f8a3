// @vitest-environment happy-dom
/** The approval of exactly what was looked at. */

import { focusManager, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { setLanguage, startI18n } from "@/i18n";

import { DiffDialog } from "./diff";
import type { McpTool } from "./queries";

const server = loopback();

beforeAll(async () => {
  await startI18n();
  await setLanguage("en");
});
afterEach(() => {
  cleanup();
  queryClient.clear();
  focusManager.setFocused(undefined);
});

const DIFF = "/api/v1/mcp/tools/7/diff";

/** The server has this definition, and refuses to approve it. */
function defines(hash: string, status = 500, message = "Not now."): void {
  const body = { approved: null, current: {}, changed: [], text: "", definition_hash: hash };
  const refusal = { status, body: { error_code: "error", message } };
  server.answer = ({ method }) => (method === "GET" ? { body } : refusal);
}

async function open(): Promise<HTMLElement> {
  defines("first");
  const tool = { id: 7, name: "search" } as McpTool; // all that is looked at
  render(
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <DiffDialog tool={tool} onClose={vi.fn()} />
      </TooltipProvider>
    </QueryClientProvider>,
  );
  await screen.findByText("first");
  return screen.getByRole("button", { name: "Approve this definition" });
}

it("a definition that changes is not exchanged under the reader's eyes", async () => {
  await open();
  defines("second");
  await act(async () => {
    focusManager.setFocused(false);
    focusManager.setFocused(true);
    await api.GET("/api/auth/me"); // what was asked before it has arrived, too
  });
  expect(server.asked.map(({ path }) => path)).toEqual([DIFF, "/api/auth/me"]);
  expect(screen.getByText("first")).toBeTruthy();
});

it("one that has changed is shown and said; what goes wrong after it is said, too", async () => {
  const approve = await open();
  defines("second", 409, "It has changed.");
  fireEvent.click(approve);
  await screen.findByText("second");
  expect(screen.getByRole("status").textContent).toContain("changed once more");
  defines("second", 500, "Not now.");
  fireEvent.click(approve);
  expect((await screen.findByRole("alert")).textContent).toContain("Not now.");
});
