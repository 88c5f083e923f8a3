// @vitest-environment happy-dom
/** The end of a list that goes on. */

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";

import { startI18n } from "@/i18n";

import { MoreButton } from "./ConversationList";

/** What is observed is in view: a browser says so at once, happy-dom lays out nothing. */
class AllInView {
  constructor(private readonly onSeen: (entries: { isIntersecting: boolean }[]) => void) {}
  observe = () => this.onSeen([{ isIntersecting: true }]);
  disconnect = () => undefined;
}

beforeAll(startI18n);
beforeEach(() => vi.stubGlobal("IntersectionObserver", AllInView));
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

it("loads the next page when it comes into view, and the one after it", () => {
  const onMore = vi.fn();
  const { rerender } = render(<MoreButton isBusy={false} hasFailed={false} onMore={onMore} />);
  expect(onMore).toHaveBeenCalledTimes(1);
  rerender(<MoreButton isBusy hasFailed={false} onMore={onMore} />);
  rerender(<MoreButton isBusy={false} hasFailed={false} onMore={onMore} />);
  expect(onMore).toHaveBeenCalledTimes(2);
});

it("leaves a page that failed to the user", () => {
  const onMore = vi.fn();
  const { rerender } = render(<MoreButton isBusy hasFailed={false} onMore={onMore} />);
  rerender(<MoreButton isBusy={false} hasFailed onMore={onMore} />);
  expect(onMore).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button"));
  expect(onMore).toHaveBeenCalledTimes(1);
});
