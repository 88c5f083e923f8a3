/** A small card beside what was clicked. */

import { Popover as Radix } from "radix-ui";
import type { ReactNode } from "react";

interface PopoverProps {
  trigger: ReactNode;
  children: ReactNode;
  label: string;
  isOpen?: boolean;
  onOpenChange?: (isOpen: boolean) => void;
}

export function Popover({ trigger, children, label, isOpen, onOpenChange }: PopoverProps) {
  return (
    <Radix.Root
      {...(isOpen !== undefined && { open: isOpen })}
      {...(onOpenChange && { onOpenChange })}
    >
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          aria-label={label}
          sideOffset={6}
          collisionPadding={12}
          className="z-50 max-h-[70dvh] w-96 max-w-[calc(100vw-1.5rem)] overflow-auto rounded-xl border border-line bg-raised p-3 text-sm shadow-float"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
