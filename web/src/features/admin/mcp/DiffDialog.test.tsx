// @vitest-environment happy-dom
/** The approval of exactly what was looked at. */

import { focusManager, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { setLanguage, startI18n } from "@/i18n";

import { DiffDialog } from "./DiffDialog";
import type { McpTool } from "./queries";

beforeAll(async () => {
  await startI18n();
  await setLanguage("en");
});
afterEach(() => {
  cleanup();
  queryClient.clear();
  focusManager.setFocused(undefined);
});

function defines(hash: string): void {
  const data = { approved: null, current: {}, changed: [], text: "", definition_hash: hash };
  const response = new Response(null, { status: 200 });
  vi.spyOn(api, "GET").mockResolvedValue({ data, response });
}

function refuses(status: number, message: string): void {
  const error = { error_code: "error", message };
  vi.spyOn(api, "POST").mockResolvedValue({ error, response: new Response(null, { status }) });
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
    await Promise.resolve();
  });
  expect(api.GET).toHaveBeenCalledTimes(1);
  expect(screen.getByText("first")).toBeTruthy();
});

it("one that has changed is shown and said; what goes wrong after it is said, too", async () => {
  const approve = await open();
  defines("second");
  refuses(409, "It has changed.");
  fireEvent.click(approve);
  await screen.findByText("second");
  expect(screen.getByRole("status").textContent).toContain("changed once more");
  refuses(500, "Not now.");
  fireEvent.click(approve);
  expect((await screen.findByRole("alert")).textContent).toContain("Not now.");
});
