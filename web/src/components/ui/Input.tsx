/** One-line text, several lines, and a choice from a list: native controls in our clothes. */

import type { ComponentProps } from "react";

import { classes } from "@/lib/classes";

const LOOK =
  "w-full rounded-lg border border-line-strong bg-raised px-3 text-sm text-text outline-offset-0 aria-invalid:border-danger disabled:opacity-60";

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input {...rest} className={classes(LOOK, "h-9", className)} />;
}

export function Textarea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea {...rest} className={classes(LOOK, "min-h-20 py-2", className)} />;
}

export function Select({ className, ...rest }: ComponentProps<"select">) {
  return <select {...rest} className={classes(LOOK, "h-9 pr-8", className)} />;
}
