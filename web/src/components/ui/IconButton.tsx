/** A button that is only an icon: its `label` is read out and shown on hover. */

import type { LucideIcon } from "lucide-react";

import { Button, type ButtonProps } from "./Button";
import { Tooltip } from "./Tooltip";

interface IconButtonProps extends Omit<ButtonProps, "size" | "children"> {
  label: string;
  icon: LucideIcon;
  isSmall?: boolean;
}

export function IconButton({ label, icon: Icon, isSmall = false, ...rest }: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <Button variant="ghost" {...rest} size={isSmall ? "smallIcon" : "icon"} aria-label={label}>
        {rest.isBusy !== true && <Icon className="size-4" aria-hidden />}
      </Button>
    </Tooltip>
  );
}
