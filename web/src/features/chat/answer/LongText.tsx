/** Code or text that may be very long: first a part of it, all on demand. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { CodeBlock } from "@/components/CodeBlock";
import { Button } from "@/components/ui/Button";
import { formatNumber } from "@/lib/format";

import { cut } from "./values";

const LINES = 24;
const CHARACTERS = 2500;

interface LongTextProps {
  text: string;
  language: string;
  label?: string;
}

export function LongText({ text, language, label }: LongTextProps) {
  const { t } = useTranslation("answer");
  const [isWhole, setIsWhole] = useState(false);
  const few = cut(text, LINES, CHARACTERS);
  const isCut = few.length < text.length;
  return (
    <div>
      <CodeBlock
        code={isWhole || !isCut ? text : few}
        language={language}
        {...(label !== undefined && { label })}
      />
      {isCut && (
        <Button size="small" variant="ghost" onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? t("showLess") : t("showAll", { count: formatNumber(text.length) })}
        </Button>
      )}
    </div>
  );
}
