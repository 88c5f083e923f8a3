/** One of several views, chosen by a row of tabs. */

import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

interface Tab {
  value: string;
  label: ReactNode;
  content: ReactNode;
}

interface TabsProps {
  tabs: Tab[];
  label: string;
  value?: string;
  onChange?: (value: string) => void;
}

export function Tabs({ tabs, label, value, onChange }: TabsProps) {
  return (
    <Radix.Root
      {...(value !== undefined ? { value } : { defaultValue: tabs[0]?.value ?? "" })}
      {...(onChange && { onValueChange: onChange })}
    >
      <Radix.List aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px border-b-2 -outline-offset-2 border-transparent px-3 py-2 text-sm whitespace-nowrap text-muted hover:text-text data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-text"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value} className="pt-4 outline-none">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
