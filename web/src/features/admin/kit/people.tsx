/** The accounts: names for ids, and a choice of one. */

import { queryOptions, useQuery } from "@tanstack/react-query";

import { api, call, type Schemas } from "@/api/client";
import { Select, type FieldControl } from "@/components/ui/Field";

export type User = Schemas["UserInfo"];

export const USERS = ["admin", "users"];
const MAX_PEOPLE = 1000;
const NO_PEOPLE: User[] = [];

/** The accounts to choose from: the first thousand. */
export const everyoneQuery = queryOptions({
  queryKey: [...USERS, "all"],
  queryFn: () => call(api.GET("/api/users", { params: { query: { limit: MAX_PEOPLE } } })),
  staleTime: 60_000,
});

export function usePeople(): User[] {
  return useQuery(everyoneQuery).data?.items ?? NO_PEOPLE;
}

/** A user's name by id; the id itself if there is no such account. */
export function useNameOf(): (userId: string) => string {
  const people = usePeople();
  const names = new Map(people.map((each) => [each.id, each.username]));
  return (userId) => names.get(userId) ?? userId;
}

interface UserSelectProps {
  control: FieldControl;
  value: string;
  /** The text of the choice of no user. */
  empty: string;
  onChange: (userId: string) => void;
  /** Ids that cannot be chosen. */
  without?: readonly string[];
}

export function UserSelect({ control, value, empty, onChange, without = [] }: UserSelectProps) {
  const people = usePeople().filter((each) => !without.includes(each.id));
  const isKnown = value === "" || people.some((each) => each.id === value);
  return (
    <Select {...control} value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{empty}</option>
      {!isKnown && <option value={value}>{value}</option>}
      {people.map((each) => (
        <option key={each.id} value={each.id}>
          {each.username}
        </option>
      ))}
    </Select>
  );
}
