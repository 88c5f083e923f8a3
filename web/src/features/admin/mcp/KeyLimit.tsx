/**
 * Whether a key is limited at all: two big choices, so that "no limit" and "nothing" are not
 * mistaken.
 */

import { LockKeyhole, LockKeyholeOpen, type LucideIcon } from "lucide-react";
import { useId } from "react";
import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

import type { Chosen } from "./allowlist";

interface KeyLimitProps {
  chosen: Chosen;
  onChange: (chosen: Chosen) => void;
}

export function KeyLimit({ chosen, onChange }: KeyLimitProps) {
  const { t } = useTranslation("mcpAdmin");
  const group = useId();
  const isLimited = chosen !== null;
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">{t("allow.limit")}</legend>
      <div className="grid gap-2 sm:grid-cols-2">
        <Choice
          group={group}
          icon={LockKeyholeOpen}
          title={t("allow.unlimited")}
          text={t("allow.unlimitedText")}
          isChosen={!isLimited}
          onChoose={() => onChange(null)}
        />
        <Choice
          group={group}
          icon={LockKeyhole}
          title={t("allow.limited")}
          text={t("allow.limitedText")}
          isChosen={isLimited}
          onChoose={() => onChange(chosen ?? new Set())}
        />
      </div>
    </fieldset>
  );
}

interface ChoiceProps {
  group: string;
  icon: LucideIcon;
  title: string;
  text: string;
  isChosen: boolean;
  onChoose: () => void;
}

function Choice({ group, icon: Icon, title, text, isChosen, onChoose }: ChoiceProps) {
  const id = useId();
  return (
    <label
      className={classes(
        "flex cursor-pointer items-start gap-3 rounded-lg border p-3 has-focus-visible:outline-2 has-focus-visible:outline-accent",
        isChosen ? "border-accent bg-accent-soft" : "border-line hover:bg-sunken",
      )}
    >
      <input
        type="radio"
        name={group}
        className="mt-1 size-4 accent-accent"
        aria-label={title}
        aria-describedby={id}
        checked={isChosen}
        onChange={onChoose}
      />
      <span className="min-w-0 flex-1">
        <span className="block text-sm font-medium">{title}</span>
        <span id={id} className="block text-xs text-muted">
          {text}
        </span>
      </span>
      <Icon className="size-4 text-muted" aria-hidden />
    </label>
  );
}
