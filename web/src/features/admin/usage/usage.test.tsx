// @vitest-environment happy-dom
/** Whose figures are shown while others are on their way. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { setLanguage, startI18n } from "@/i18n";

import { everyoneQuery } from "../kit/people";
import { dayOf } from "./figures";
import { UsageSection } from "./usage";

const server = loopback();

beforeAll(async () => {
  await startI18n();
  await setLanguage("en");
});
afterEach(() => {
  cleanup();
  queryClient.clear();
});

const ANN = {
  user_id: "u1",
  username: "ann",
  day: dayOf(Date.now()),
  runs: 1,
  input_tokens: 77_000,
  output_tokens: 777,
  tool_calls: 0,
  sql_seconds: 0,
  wall_seconds: 0,
  cost: null,
  currency: null,
};

it("the figures of other days are not shown as those that were asked for", async () => {
  queryClient.setQueryData(everyoneQuery.queryKey, { items: [], total: 0 });
  server.answer = () => ({ body: { items: [ANN], total: 1 } });
  const { container } = render(
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <UsageSection />
      </TooltipProvider>
    </QueryClientProvider>,
  );
  await vi.waitFor(() => expect(container.textContent).toContain("77,777"), { timeout: 20_000 });
  server.answer = () => "nothing"; // on its way
  fireEvent.click(screen.getByRole("button", { name: "7 days" }));
  expect(container.textContent).not.toContain("77,777");
});
