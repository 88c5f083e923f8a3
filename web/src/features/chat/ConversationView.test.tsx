// @vitest-environment happy-dom
/** What an answer on its way does to the rest of the page. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { newTurn } from "@/events/history";
import { startI18n } from "@/i18n";

import { ConversationView } from "./ConversationView";
import type { Conversation } from "./useConversation";

const shown = vi.hoisted((): { conversation: unknown; barCount: number } => ({
  conversation: null,
  barCount: 0,
}));
// The conversation as the test says it is: batches come when it wants them.
vi.mock("./useConversation", () => ({ useConversation: () => shown.conversation }));
// A part of the composer, to count how often it is rendered.
vi.mock("@/features/composer/ComposerBar", () => ({
  ComposerBar: () => {
    shown.barCount += 1;
    return <p>bar</p>;
  },
}));
vi.mock("./Transcript", () => ({ Transcript: () => null })); // it is another test's
// It needs the router.
vi.mock("@/features/conversations/ConversationMenu", () => ({ ConversationMenu: () => null }));

loopback(); // the limits of messages are not known yet

beforeAll(startI18n);
afterEach(cleanup);

const ACTS = { ask: vi.fn(), withdraw: vi.fn(), stop: vi.fn(), decide: vi.fn(), restart: vi.fn() };

/** A conversation whose answer has grown by `count` batches. */
function grown(count: number): Conversation {
  const turn = newTurn("r1", { answerLength: count });
  const state = { turns: [turn], lastSeq: count, earlier: 0 };
  const rest = { id: "c1", link: "open", isLoaded: true, problem: null, loadEarlier: vi.fn() };
  return { ...rest, ...ACTS, state } as Conversation;
}

it("the composer is not rendered again with each batch of an answer", async () => {
  const view = () => (
    <QueryClientProvider client={queryClient}>
      <ConversationView conversationId="c1" />
    </QueryClientProvider>
  );
  shown.conversation = grown(1);
  const { rerender } = render(view());
  await screen.findByText("bar");
  const before = shown.barCount;
  shown.conversation = grown(2);
  rerender(view());
  expect(shown.barCount).toBe(before);
});
