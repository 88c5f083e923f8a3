// @vitest-environment happy-dom
/** A user joins a tenant by accepting its invitation. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeAll, expect, it } from "vitest";

import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { loadLaterTexts, setLanguage, startI18n } from "@/i18n";

import { Invitations } from "./Invitations";

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

const INVITATION = {
  tenant_id: "acme",
  tenant_name: "Acme",
  user_id: "u1",
  role: "member",
  invited_by: "anna",
  created_at: "2026-01-01T00:00:00Z",
  expires_at: "2026-01-08T00:00:00Z",
};

it.each([
  ["Accept", "POST", "/api/v1/invitations/acme/accept"],
  ["Decline", "DELETE", "/api/v1/tenants/acme/invitations/u1"],
])("%s answers the invitation, which is gone then", async (label, method, path) => {
  server.answer = (asked) => {
    const isAnswered = server.asked.some((each) => each.method === method);
    const items = isAnswered ? [] : [INVITATION];
    return { body: asked.method === "GET" ? { items, total: items.length } : {} };
  };
  render(
    <QueryClientProvider client={queryClient}>
      <Invitations />
    </QueryClientProvider>,
  );
  fireEvent.click(await screen.findByRole("button", { name: label }));
  await waitFor(() => expect(screen.queryByText("Acme")).toBeNull());
  expect(server.asked.filter((each) => each.method !== "GET")).toMatchObject([{ method, path }]);
});
