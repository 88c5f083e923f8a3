/** One of the accounts. */

import type { FieldControl } from "@/components/ui/Field";
import { Select } from "@/components/ui/Input";

import { usePeople } from "./people";

interface UserSelectProps {
  control: FieldControl;
  value: string;
  /** The text of the choice of nobody in particular. */
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
