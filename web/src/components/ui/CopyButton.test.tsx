// @vitest-environment happy-dom
/** Copying: with the browser's clipboard, without it, and not at all. */

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { startI18n } from "@/i18n";

import { CopyButton } from "./CopyButton";
import { currentToasts, dismissToast } from "./toast";
import { TooltipProvider } from "./Tooltip";

beforeAll(startI18n);
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  for (const { id } of currentToasts()) dismissToast(id);
});

/**
 * Presses the button of a dialog that, as ours do, takes the focus back from what is outside it.
 */
function press(): void {
  render(
    <TooltipProvider>
      <div role="dialog" data-testid="dialog">
        <CopyButton text="secret-key" />
      </div>
    </TooltipProvider>,
  );
  const button = screen.getByRole("button");
  const dialog = screen.getByTestId("dialog");
  const takeBack = (event: FocusEvent) => {
    if (!dialog.contains(event.target as Node)) button.focus();
  };
  document.addEventListener("focusin", takeBack);
  button.focus();
  fireEvent.click(button);
  document.removeEventListener("focusin", takeBack);
}

it("copies what is in a dialog also where pages have no clipboard", async () => {
  vi.stubGlobal("isSecureContext", false);
  const selected: unknown[] = [];
  const execCommand = () => {
    const { activeElement } = document;
    const area = activeElement instanceof HTMLTextAreaElement ? activeElement : null;
    selected.push(area?.value.slice(area.selectionStart, area.selectionEnd));
    return area !== null;
  };
  Object.assign(document, { execCommand });
  press();
  expect(await screen.findByRole("button", { name: "Copied" })).toBe(document.activeElement);
  expect(selected).toEqual(["secret-key"]);
});

it.each([
  ["the old way fails", false],
  ["the clipboard is refused", true],
])("says so when %s", async (_, isSecureContext) => {
  vi.stubGlobal("isSecureContext", isSecureContext);
  Object.assign(document, { execCommand: () => false });
  const refuse = () => Promise.reject(new DOMException("no", "NotAllowedError"));
  vi.spyOn(navigator.clipboard, "writeText").mockImplementation(refuse);
  press();
  await vi.waitFor(() => expect(currentToasts()).toHaveLength(1));
  expect(currentToasts()[0]).toMatchObject({ tone: "danger" });
  expect(screen.queryByRole("button", { name: "Copied" })).toBeNull();
});
