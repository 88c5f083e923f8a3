/** A check box with its text beside it. */

import type { ComponentProps, ReactNode } from "react";

import { classes } from "@/lib/classes";

interface CheckboxProps extends Omit<ComponentProps<"input">, "type"> {
  label: ReactNode;
}

export function Checkbox({ label, className, ...rest }: CheckboxProps) {
  return (
    <label className={classes("inline-flex items-center gap-2 text-sm", className)}>
      <input type="checkbox" {...rest} className="size-4 accent-accent" />
      <span>{label}</span>
    </label>
  );
}
