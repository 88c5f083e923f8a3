/** A filter that is typed: it counts when typing pauses. */

import { useEffect, useRef, useState } from "react";

import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";

interface FilterTextProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

const PAUSE_MS = 400;

export function FilterText({ label, value, onChange }: FilterTextProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (text: string) => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      setTyped(null);
      onChange(text.trim());
    }, PAUSE_MS);
  };
  return (
    <Field label={label}>
      {(control) => (
        <Input
          {...control}
          autoComplete="off"
          spellCheck={false}
          value={typed ?? value}
          onChange={(event) => type(event.target.value)}
        />
      )}
    </Field>
  );
}
