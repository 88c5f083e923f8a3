// @vitest-environment happy-dom
/** A user's attributes, opened twice. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { setLanguage, startI18n } from "@/i18n";

import type { User } from "../kit/people";
import { AttributesDialog } from "./attributes";

const server = loopback();

beforeAll(async () => {
  await startI18n();
  await setLanguage("en");
});
afterEach(cleanup);

const ANN = { id: "u1", username: "ann" } as User; // all that is looked at

function open(region: string): () => void {
  server.answer = () => ({ body: { attributes: { region } } });
  return render(
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <AttributesDialog user={ANN} onClose={vi.fn()} />
      </TooltipProvider>
    </QueryClientProvider>,
  ).unmount;
}

it("are those of now, not those of when they were last looked at", async () => {
  const close = open("north");
  await screen.findByDisplayValue("north");
  close();
  await vi.waitFor(() => expect(queryClient.getQueryCache().getAll()).toEqual([]), {
    timeout: 20_000,
  });
  open("south");
  await screen.findByDisplayValue("south");
});
