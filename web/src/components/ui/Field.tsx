/** Controls of a form: a labelled field, text, a choice from a list, a check box. */

import { useId, type ComponentProps, type ReactNode } from "react";

import { classes } from "@/lib/classes";

export interface FieldControl {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

interface FieldProps {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  children: (control: FieldControl) => ReactNode;
}

/** A labelled control with a hint and an error, tied together for screen readers. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const hasHint = hint !== undefined && hint !== null;
  const described = [hasHint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className="grid content-start gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({
        id,
        "aria-describedby": described || undefined,
        "aria-invalid": error ? true : undefined,
      })}
      {hasHint && (
        <div id={`${id}-hint`} className="text-xs text-muted">
          {hint}
        </div>
      )}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-sm text-danger">
          {error}
        </p>
      )}
    </div>
  );
}

const LOOK =
  "w-full rounded-lg border border-line-strong bg-raised px-3 text-sm text-text outline-offset-0 aria-invalid:border-danger disabled:opacity-60";

/** One-line text, several lines, and a choice from a list: native controls in our clothes. */
export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input {...rest} className={classes(LOOK, "h-9", className)} />;
}

export function Textarea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea {...rest} className={classes(LOOK, "min-h-20 py-2", className)} />;
}

export function Select({ className, ...rest }: ComponentProps<"select">) {
  return <select {...rest} className={classes(LOOK, "h-9 pr-8", className)} />;
}

interface CheckboxProps extends Omit<ComponentProps<"input">, "type"> {
  label: ReactNode;
}

/** A check box with its text beside it. */
export function Checkbox({ label, className, ...rest }: CheckboxProps) {
  return (
    <label className={classes("inline-flex items-center gap-2 text-sm", className)}>
      <input type="checkbox" {...rest} className="size-4 accent-accent" />
      <span>{label}</span>
    </label>
  );
}
