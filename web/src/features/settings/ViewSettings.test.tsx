// @vitest-environment happy-dom
/** The page's look, chosen here or elsewhere. */

import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it } from "vitest";

import { loadLaterTexts, startI18n } from "@/i18n";
import { setTheme } from "@/lib/theme";

import { ViewSettings } from "./ViewSettings";

beforeAll(async () => {
  await startI18n();
  await loadLaterTexts();
});
afterEach(cleanup);

function chosen(): HTMLSelectElement {
  return screen.getByRole<HTMLSelectElement>("combobox", { name: "Appearance" });
}

it("shows what was chosen in the account's menu", () => {
  render(<ViewSettings />);
  act(() => setTheme("dark"));
  expect(chosen().value).toBe("dark");
});

it("changes the page at once, and stays changed", () => {
  render(<ViewSettings />);
  fireEvent.change(chosen(), { target: { value: "light" } });
  expect(document.documentElement.dataset["theme"]).toBe("light");
  cleanup();
  render(<ViewSettings />);
  expect(chosen().value).toBe("light");
});
