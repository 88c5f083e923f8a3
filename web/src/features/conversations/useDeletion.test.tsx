// @vitest-environment happy-dom
/** A conversation deleted and brought back. */

import { QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { currentToasts, dismissToast } from "@/components/ui/toast";
import { addStanding, standingKinds } from "@/features/chat/answer/approval/standing";
import { EMPTY_DRAFT, readDraft, writeDraft } from "@/features/composer/drafts";
import { startI18n } from "@/i18n";

import { useDeletion } from "./ConversationMenu";
import type { ConversationInfo } from "./groups";

const router = vi.hoisted((): { openId: string | undefined; went: string[] } => ({
  openId: undefined,
  went: [],
}));
// A router of one line: where the page is, and where it was sent.
vi.mock("@tanstack/react-router", () => ({
  useParams: () => ({ conversationId: router.openId }),
  useNavigate: () => (to: { to: string; params?: { conversationId: string } }) => {
    router.openId = to.params?.conversationId;
    router.went.push(to.to);
    return Promise.resolve();
  },
}));

const server = loopback();

beforeAll(startI18n);
afterEach(() => {
  localStorage.clear();
  router.went.length = 0;
  for (const { id } of currentToasts()) dismissToast(id);
});

const CONVERSATION = { id: "c1", title: "Sales" } as ConversationInfo; // all that is looked at

function answered(): void {
  server.answer = ({ method }) => (method === "POST" ? { body: CONVERSATION } : { status: 204 });
}

function deletion() {
  const wrapper = ({ children }: { children: React.ReactNode }) => (
    <QueryClientProvider client={queryClient}>{children}</QueryClientProvider>
  );
  return renderHook(() => useDeletion(), { wrapper });
}

it.each([
  ["leads back to a conversation that was open", "c1", ["/", "/chat/$conversationId"]],
  ["leaves the page where it is otherwise", "c2", []],
])("undoing a deletion %s", async (_, openId, went) => {
  router.openId = openId;
  answered();
  const { result, rerender } = deletion();
  act(() => result.current(CONVERSATION));
  await vi.waitFor(() => expect(currentToasts()).toHaveLength(1));
  rerender(); // the list stays on the page, which is another one now
  act(() => currentToasts()[0]?.action?.run());
  await vi.waitFor(() => expect(currentToasts()).toHaveLength(2));
  expect(router.went).toEqual(went);
});

it("what the browser kept of a conversation goes with it, and comes back with it", async () => {
  router.openId = undefined;
  answered();
  const draft = { ...EMPTY_DRAFT, text: "and 2025?" };
  writeDraft("c1", draft);
  writeDraft("c2", draft);
  addStanding("c1", "shell");
  const { result } = deletion();
  act(() => result.current(CONVERSATION));
  await vi.waitFor(() => expect(currentToasts()).toHaveLength(1));
  expect([readDraft("c1"), standingKinds("c1")]).toEqual([EMPTY_DRAFT, []]);
  expect(localStorage).toHaveLength(1); // another conversation's
  act(() => currentToasts()[0]?.action?.run());
  await vi.waitFor(() => expect(currentToasts()).toHaveLength(2));
  expect([readDraft("c1"), standingKinds("c1")]).toEqual([draft, ["shell"]]);
});
