// @vitest-environment happy-dom
/** Where the reader stands in a conversation when earlier messages are asked for. */

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it } from "vitest";

import { startI18n } from "@/i18n";

import { Transcript } from "./Transcript";
import type { Conversation } from "./useConversation";

beforeAll(startI18n);
afterEach(cleanup);

/** A conversation with messages before those that are shown; all that is looked at. */
function conversation(earlier: number, loadEarlier: () => Promise<void>): Conversation {
  return {
    id: "c1",
    state: { turns: [], lastSeq: 0, earlier },
    loadEarlier,
  } as unknown as Conversation;
}

/**
 * The conversation on a page of 1000 pixels, read from 300; then `next` comes, when it is read from
 * 700.
 */
async function readOn(loadEarlier: () => Promise<void>, isOver: () => Promise<unknown>) {
  const shown = (earlier: number) => (
    <Transcript conversation={conversation(earlier, loadEarlier)} onEdit={() => undefined} />
  );
  const { rerender } = render(shown(50));
  const area = screen.getByRole("log");
  Object.defineProperty(area, "scrollHeight", { value: 1000 });
  area.scrollTop = 300;
  fireEvent.click(screen.getByRole("button", { name: "Show earlier messages" }));
  await isOver();
  area.scrollTop = 700;
  rerender(shown(20));
  return area.scrollTop;
}

it("keeps what was in view when the earlier messages come", async () => {
  expect(
    await readOn(
      () => Promise.resolve(),
      () => Promise.resolve(),
    ),
  ).toBe(300);
});

it("is where the reader went after earlier messages did not come", async () => {
  const refused = () => Promise.reject(new Error("Not now."));
  expect(await readOn(refused, () => screen.findByRole("alert"))).toBe(700);
});
