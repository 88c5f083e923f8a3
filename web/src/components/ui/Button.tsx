/** Buttons: `variant` says how much it matters, `size` how large it is. */

import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ComponentProps } from "react";

import { classes } from "@/lib/classes";

import { Tooltip } from "./Tooltip";

const VARIANTS = {
  primary: "bg-accent text-accent-text hover:brightness-110 border-transparent",
  secondary: "bg-raised text-text border-line-strong hover:bg-sunken",
  ghost: "bg-transparent text-text border-transparent hover:bg-sunken",
  danger: "bg-raised text-danger border-danger/60 hover:bg-danger-soft",
} as const;

const SIZES = {
  small: "h-8 px-2.5 text-sm gap-1.5 rounded-md",
  medium: "h-9 px-3.5 text-sm gap-2 rounded-lg",
  icon: "size-9 justify-center rounded-lg",
  smallIcon: "size-8 justify-center rounded-md",
} as const;

interface ButtonProps extends ComponentProps<"button"> {
  variant?: keyof typeof VARIANTS;
  size?: keyof typeof SIZES;
  isBusy?: boolean;
}

/** Buttons: `variant` says how much it matters, `size` how much room it takes. */
export function Button({
  variant = "secondary",
  size = "medium",
  isBusy = false,
  className,
  children,
  disabled,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy || undefined}
      className={classes(
        "inline-flex shrink-0 items-center justify-center border font-medium whitespace-nowrap transition-colors disabled:opacity-50",
        VARIANTS[variant],
        SIZES[size],
        className,
      )}
    >
      {isBusy && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonProps, "size" | "children"> {
  label: string;
  icon: LucideIcon;
  isSmall?: boolean;
}

/** A button that is only an icon: its `label` is read out and shown on hover. */
export function IconButton({ label, icon: Icon, isSmall = false, ...rest }: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <Button variant="ghost" {...rest} size={isSmall ? "smallIcon" : "icon"} aria-label={label}>
        {rest.isBusy !== true && <Icon className="size-4" aria-hidden />}
      </Button>
    </Tooltip>
  );
}
