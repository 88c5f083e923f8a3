// @vitest-environment happy-dom
/** What a table in an answer says of what it does not show. */

import { QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it } from "vitest";

import { queryClient } from "@/api/queries";
import { TooltipProvider } from "@/components/ui/Tooltip";
import { startI18n } from "@/i18n";

import type { TablePreview } from "../previews";
import { TableCard } from "./TableCard";

beforeAll(startI18n);
afterEach(cleanup);

const COLUMNS = [{ name: "city", type: "string" }];

function shown(preview: Partial<TablePreview>): string {
  const whole = { rowCount: 1, columns: COLUMNS, rows: [["Oslo"]], otherColumns: 0, receipt: null };
  render(
    <QueryClientProvider client={queryClient}>
      <TooltipProvider>
        <TableCard artifactId="a1" title="Cities" preview={{ ...whole, ...preview }} />
      </TooltipProvider>
    </QueryClientProvider>,
  );
  return screen.getByRole("region", { name: "Table: Cities" }).textContent;
}

it("says how many columns are left out, also when every row is there", () => {
  expect(shown({ otherColumns: 44 })).toContain("44 more columns are not shown here.");
});

it("says that there are more rows, and nothing when all is shown", () => {
  expect(shown({ rowCount: 77 })).toContain("The first 1 rows are shown.");
  cleanup();
  expect(shown({})).not.toContain("shown");
});
