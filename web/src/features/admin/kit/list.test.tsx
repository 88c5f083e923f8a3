// @vitest-environment happy-dom
import { cleanup, render } from "@testing-library/react";
import { afterEach, beforeAll, expect, it, vi } from "vitest";

import { TooltipProvider } from "@/components/ui/Tooltip";
import { setLanguage, startI18n } from "@/i18n";

import { Paging } from "./list";

beforeAll(async () => {
  await startI18n();
  await setLanguage("en");
});
afterEach(cleanup);

it.each([
  { offset: 50, total: 50, goesTo: [0] },
  { offset: 150, total: 101, goesTo: [100] },
  { offset: 50, total: 0, goesTo: [0] },
  { offset: 50, total: 51, goesTo: [] },
  { offset: 0, total: 0, goesTo: [] },
])("from $offset of $total rows it goes to $goesTo", ({ offset, total, goesTo }) => {
  const onChange = vi.fn();
  render(
    <TooltipProvider>
      <Paging offset={offset} pageSize={50} total={total} onChange={onChange} />
    </TooltipProvider>,
  );
  expect(onChange.mock.calls.flat()).toEqual(goesTo);
});
