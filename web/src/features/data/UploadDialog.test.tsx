// @vitest-environment happy-dom
/** Files chosen for a source. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeAll, expect, it } from "vitest";

import { loopback } from "@/api/loopback";
import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { setLanguage, startI18n } from "@/i18n";

import { UploadDialog } from "./UploadDialog";

loopback(); // the limits of uploads are not known yet

beforeAll(async () => {
  await startI18n();
  await setLanguage("en");
});
afterEach(cleanup);

it("says how many files are beyond the limit, until the list is changed", () => {
  render(
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <UploadDialog isOpen onClose={() => undefined} />
      </TooltipProvider>
    </QueryClientProvider>,
  );
  const files = Array.from({ length: 23 }, (_, at) => new File(["a"], `${at}.csv`));
  fireEvent.change(
    screen.getByLabelText("Choose files, or drop them here", { selector: "input" }),
    {
      target: { files },
    },
  );
  const list = screen.getByRole("list", { name: "Chosen files" });
  expect(within(list).getAllByRole("listitem")).toHaveLength(20);
  expect(screen.getByRole("status").textContent).toBe(
    "At most 20 files go into one source: 3 files were left out.",
  );
  fireEvent.click(screen.getByRole("button", { name: "Remove 0.csv" }));
  expect(screen.queryByRole("status")).toBeNull();
});
