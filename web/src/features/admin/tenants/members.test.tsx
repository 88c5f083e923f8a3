// @vitest-environment happy-dom
/** Who can be taken into a tenant. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { loopback, type Asked } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { setLanguage, startI18n } from "@/i18n";

import { MembersDialog } from "./members";
import type { Tenant } from "./tenantForm";

const server = loopback();

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

/** A server with one user who is no member, and more members than a page has. */
function answer({ path, query }: Asked) {
  const [limit, offset] = [Number(query["limit"]), Number(query["offset"] ?? 0)];
  const all = path === "/api/users" ? USERS : MEMBERS;
  return { body: { items: all.slice(offset, offset + limit), total: all.length } };
}

it("a member on another page is not offered: it would cost them their role", async () => {
  server.answer = answer;
  render(
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <MembersDialog tenant={{ tenant_id: "t1", name: "Sales" } as Tenant} onClose={vi.fn()} />
      </TooltipProvider>
    </QueryClientProvider>,
  );
  const choice = await screen.findByLabelText("Take in a user");
  const offered = () => [...choice.querySelectorAll("option")].map((each) => each.value);
  await vi.waitFor(() => expect(offered()).toEqual(["", "u60"]), { timeout: 20_000 });
});
