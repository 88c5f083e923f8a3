// @vitest-environment happy-dom
/** The way out. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { currentToasts } from "@/components/ui/toast";
import { startI18n } from "@/i18n";

import { UserMenu } from "./UserMenu";

const navigate = vi.hoisted(() => vi.fn());
// Where the menu leads is the router's; here only whether it leads there.
vi.mock("@tanstack/react-router", () => ({ useNavigate: () => navigate }));

const server = loopback();

beforeAll(startI18n);
afterEach(() => {
  cleanup();
  queryClient.clear();
});

it("tells who could not be signed out that they are still signed in", async () => {
  server.answer = () => "cut";
  queryClient.setQueryData(["me"], { id: "u1", username: "ann", role: "user" });
  render(
    <QueryClientProvider client={queryClient}>
      <UserMenu onLeave={() => undefined} />
    </QueryClientProvider>,
  );
  fireEvent.keyDown(screen.getByRole("button"), { key: "Enter" });
  fireEvent.click(await screen.findByRole("menuitem", { name: "Sign out" }));
  await vi.waitFor(() => expect(currentToasts()).toHaveLength(1));
  expect(currentToasts()[0]?.text).toContain("you are still signed in.");
  expect(navigate).not.toHaveBeenCalled();
});
