/** A menu under a button. */

import type { LucideIcon } from "lucide-react";
import { DropdownMenu as Radix } from "radix-ui";
import type { ReactNode } from "react";

import { classes } from "@/lib/classes";

interface MenuProps {
  trigger: ReactNode;
  children: ReactNode;
  align?: "start" | "end";
}

export function Menu({ trigger, children, align = "end" }: MenuProps) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align={align}
          sideOffset={4}
          className="z-50 min-w-44 rounded-lg border border-line bg-raised p-1 shadow-float"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface MenuItemProps {
  icon?: LucideIcon;
  isDanger?: boolean;
  isDisabled?: boolean;
  isChecked?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({
  icon: Icon,
  isDanger,
  isDisabled,
  isChecked,
  onSelect,
  children,
}: MenuItemProps) {
  return (
    <Radix.Item
      onSelect={onSelect}
      disabled={isDisabled ?? false}
      {...(isChecked !== undefined && { "aria-checked": isChecked, role: "menuitemradio" })}
      className={classes(
        "flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-[disabled]:opacity-50 data-[highlighted]:bg-sunken",
        isDanger === true && "text-danger",
        isChecked === true && "font-semibold",
      )}
    >
      {Icon && <Icon className="size-4" aria-hidden />}
      {children}
    </Radix.Item>
  );
}

export function MenuSeparator() {
  return <Radix.Separator className="my-1 h-px bg-line" />;
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <Radix.Label className="px-2 py-1 text-xs text-muted">{children}</Radix.Label>;
}
