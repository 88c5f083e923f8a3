// @vitest-environment happy-dom
/** What stands in the place of a chart that is not there. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { loopback, type Reply } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { setLanguage, startI18n } from "@/i18n";

import { ChartCard } from "./ChartCard";

// The drawing library cannot do its work without a browser; here it says so.
vi.mock("./draw", () => ({
  drawChart: () => Promise.reject(new Error("Unrecognized signal name")),
}));

const server = loopback();

beforeAll(async () => {
  await startI18n();
  await setLanguage("zh");
});
afterEach(() => {
  cleanup();
  queryClient.clear();
});

const SPEC = { data: { values: [{ c0: 1 }] }, mark: "bar", encoding: {} };

/** What the server says, one answer after the other. */
function answers(...said: Reply[]): void {
  server.answer = () => said.shift() ?? "nothing";
}

function show(): HTMLElement {
  render(
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <ChartCard artifactId="a1" title="Sales" parentId={null} />
      </TooltipProvider>
    </QueryClientProvider>,
  );
  return screen.getByRole("region");
}

it("can be asked for again when it did not come", async () => {
  const refused = { status: 500, body: { error_code: "error", message: "Not now." } };
  answers(refused, { status: 410, body: { error_code: "gone", message: "It is gone." } });
  const card = show();
  expect((await screen.findByRole("alert")).textContent).toContain("Not now.");
  expect(card.textContent).not.toContain("无法绘制此图表"); // nobody has tried to
  fireEvent.click(screen.getByRole("button", { name: "重试" }));
  await vi.waitFor(() =>
    expect(screen.getByRole("status").textContent).toContain("此结果已不再保留"),
  );
});

it("tells in the reader's language that it cannot be drawn, not in the library's", async () => {
  answers({ status: 200, body: { artifact_id: "a1", spec: SPEC } });
  const card = show();
  await screen.findByText("无法绘制此图表", { exact: false });
  expect(card.textContent).not.toMatch(/[a-z] [a-z]/);
});
