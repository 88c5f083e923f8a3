/** Who is logged in, for components. */

import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "./client";
import { meQuery } from "./queries";

export type Me = Schemas["UserInfo"];

export function useMe(): Me | undefined {
  return useQuery(meQuery).data;
}
