// @vitest-environment happy-dom
/** Who can be taken into a tenant. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { api } from "@/api/client";
import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { setLanguage, startI18n } from "@/i18n";

import type { Tenant } from "./form";
import { MembersDialog } from "./MembersDialog";

beforeAll(async () => {
  await startI18n();
  await setLanguage("en");
});
afterEach(() => {
  cleanup();
  queryClient.clear();
});

const USERS = Array.from({ length: 61 }, (_, at) => ({ id: `u${at}`, username: `name${at}` }));
const MEMBERS = USERS.slice(0, 60).map(({ id }) => ({
  user_id: id,
  role: "admin",
  created_at: "2026-01-01T00:00:00Z",
}));

interface Asked {
  params: { query: { limit: number; offset?: number } };
}

/** A server with one user who is no member, and more members than a page has. */
function answer(address: string, { params: { query } }: Asked) {
  const { limit, offset = 0 } = query;
  const all = address === "/api/users" ? USERS : MEMBERS;
  const data = { items: all.slice(offset, offset + limit), total: all.length };
  return Promise.resolve({ data, response: new Response(null, { status: 200 }) });
}

it("a member on another page is not offered: it would cost them their role", async () => {
  vi.spyOn(api, "GET").mockImplementation(answer as never); // two of its addresses
  render(
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <MembersDialog tenant={{ tenant_id: "t1", name: "Sales" } as Tenant} onClose={vi.fn()} />
      </TooltipProvider>
    </QueryClientProvider>,
  );
  const choice = await screen.findByLabelText("Take in a user");
  await vi.waitFor(() =>
    expect([...choice.querySelectorAll("option")].map((each) => each.value)).toEqual(["", "u60"]),
  );
});
