/** One of a few ways, as radio buttons side by side. */

import { useId } from "react";

import { classes } from "@/lib/classes";

interface WayChoiceProps<Value extends string> {
  legend: string;
  choices: { value: Value; label: string }[];
  value: Value;
  hint?: string;
  onChange: (value: Value) => void;
}

export function WayChoice<Value extends string>(props: WayChoiceProps<Value>) {
  const name = useId();
  return (
    <fieldset className="grid gap-1.5">
      <legend className="mb-1.5 text-sm font-medium">{props.legend}</legend>
      <div className="inline-flex w-fit max-w-full flex-wrap gap-1 rounded-lg bg-sunken p-1">
        {props.choices.map(({ value, label }) => (
          <label
            key={value}
            className={classes(
              "cursor-pointer rounded-md px-3 py-1 text-sm has-focus-visible:outline-2 has-focus-visible:outline-accent",
              value === props.value ? "bg-raised font-medium shadow-sm" : "text-muted",
            )}
          >
            <input
              type="radio"
              name={name}
              value={value}
              checked={value === props.value}
              onChange={() => props.onChange(value)}
              className="sr-only"
            />
            {label}
          </label>
        ))}
      </div>
      {props.hint !== undefined && <p className="text-xs text-muted">{props.hint}</p>}
    </fieldset>
  );
}
