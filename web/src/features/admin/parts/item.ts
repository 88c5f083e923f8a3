/** The one thing of a section that is open, in the address: a reload or a link opens it again. */

import { useNavigate, useSearch } from "@tanstack/react-router";

export function useItem(): [string | undefined, (item: string | undefined) => void] {
  const { item } = useSearch({ from: "/shell/admin/$section" });
  const navigate = useNavigate({ from: "/admin/$section" });
  const open = (next: string | undefined) =>
    void navigate({ search: next === undefined ? {} : { item: next } });
  return [item, open];
}
