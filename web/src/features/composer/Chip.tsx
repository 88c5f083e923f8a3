/** A small thing that goes with the message, and a button to take it off. */

import { X, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

import { classes } from "@/lib/classes";

interface ChipProps {
  icon: LucideIcon;
  children: ReactNode;
  removeLabel: string;
  onRemove: () => void;
  action?: ReactNode;
  isDanger?: boolean;
}

export function Chip({ icon: Icon, children, removeLabel, onRemove, action, isDanger }: ChipProps) {
  return (
    <li
      className={classes(
        "flex max-w-full items-center gap-1.5 rounded-lg border border-line bg-sunken py-1 pr-1 pl-2 text-xs",
        isDanger === true && "border-danger/60 bg-danger-soft",
      )}
    >
      <Icon className="size-3.5 shrink-0 text-muted" aria-hidden />
      <span className="flex min-w-0 items-center gap-1.5">{children}</span>
      {action}
      <button
        type="button"
        aria-label={removeLabel}
        title={removeLabel}
        onClick={onRemove}
        className="grid size-6 shrink-0 place-items-center rounded-md text-muted hover:bg-line hover:text-text"
      >
        <X className="size-3.5" aria-hidden />
      </button>
    </li>
  );
}
