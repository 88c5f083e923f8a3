/** What the section of usage asks of the server. */

import { queryOptions } from "@tanstack/react-query";

import { api, call } from "@/api/client";

import type { DayRange } from "./range";
import type { DayUsage } from "./stacks";

const PAGE_SIZE = 10_000;

/** All days of the range, of one user or (with "") of everybody. */
async function usageOf(range: DayRange, userId: string): Promise<DayUsage[]> {
  const whose = userId === "" ? { all_users: true } : { user_id: userId };
  const found: DayUsage[] = [];
  for (;;) {
    const query = { ...range, ...whose, limit: PAGE_SIZE, offset: found.length };
    const { items, total } = await call(api.GET("/api/v1/usage", { params: { query } }));
    found.push(...items);
    if (items.length === 0 || found.length >= total) return found;
  }
}

export const usageQuery = (range: DayRange, userId: string) =>
  queryOptions({
    queryKey: ["admin", "usage", range.from, range.to, userId],
    queryFn: () => usageOf(range, userId),
  });
