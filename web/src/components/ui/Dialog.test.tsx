// @vitest-environment happy-dom
/** Where the focus is after a dialog. */

import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { startI18n } from "@/i18n";

import { Dialog, FormDialog } from "./Dialog";
import { TooltipProvider } from "./Tooltip";

beforeAll(startI18n);
afterEach(cleanup);

/** A form that shows, once it is saved, what came of it: another dialog in its place. */
function Page() {
  const [step, setStep] = useState<"closed" | "form" | "outcome">("closed");
  const close = () => setStep("closed");
  return (
    <TooltipProvider>
      <button type="button" onClick={() => setStep("form")}>
        Make a key
      </button>
      {step === "form" && (
        <FormDialog title="Key" isBusy={false} onSubmit={() => setStep("outcome")} onClose={close}>
          <input aria-label="Name" autoFocus />
        </FormDialog>
      )}
      {step === "outcome" && (
        <Dialog isOpen onClose={close} title="Made">
          It is made.
        </Dialog>
      )}
    </TooltipProvider>
  );
}

function opener(): HTMLElement {
  render(<Page />);
  const button = screen.getByRole("button", { name: "Make a key" });
  button.focus();
  fireEvent.click(button);
  return button;
}

it("gives the focus back to what opened it", async () => {
  const button = opener();
  fireEvent.click(await screen.findByRole("button", { name: "Cancel" }));
  await vi.waitFor(() => expect(document.activeElement).toBe(button));
});

it("gives it back also after another dialog has taken its place", async () => {
  const button = opener();
  const save = await screen.findByRole("button", { name: "Save" });
  save.focus();
  fireEvent.submit(screen.getByRole("textbox", { name: "Name" }));
  await screen.findByRole("dialog", { name: "Made" });
  await vi.waitFor(() => expect(document.activeElement).not.toBe(button));
  fireEvent.click(screen.getByRole("button", { name: "Close" }));
  await vi.waitFor(() => expect(document.activeElement).toBe(button));
});
