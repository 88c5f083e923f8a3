/** Which days, and whose. */

import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { Field } from "@/components/ui/Field";
import { Input } from "@/components/ui/Input";

import { UserSelect } from "../parts/UserSelect";
import { lastDays, type DayRange } from "./range";

interface UsageFilterProps {
  /** When the section was opened. */
  now: number;
  range: DayRange;
  userId: string;
  onRange: (range: DayRange) => void;
  onUser: (userId: string) => void;
}

const QUICK_DAYS = [7, 30, 90] as const;

export function UsageFilter({ now, range, userId, onRange, onUser }: UsageFilterProps) {
  const { t } = useTranslation("admin");
  const isQuick = (count: number) => {
    const quick = lastDays(count, now);
    return quick.from === range.from && quick.to === range.to;
  };
  return (
    <div className="flex flex-wrap items-end gap-3">
      <div className="flex w-full gap-1" role="group" aria-label={t("usage.days")}>
        {QUICK_DAYS.map((count) => (
          <Button
            key={count}
            aria-pressed={isQuick(count)}
            className={isQuick(count) ? "border-accent bg-accent-soft" : ""}
            onClick={() => onRange(lastDays(count, now))}
          >
            {t("usage.lastDays", { count })}
          </Button>
        ))}
      </div>
      <div className="w-40">
        <Field label={t("usage.from")}>
          {(control) => (
            <Input
              {...control}
              type="date"
              value={range.from}
              max={range.to}
              onChange={(event) => onRange({ ...range, from: event.target.value })}
            />
          )}
        </Field>
      </div>
      <div className="w-40">
        <Field label={t("usage.to")}>
          {(control) => (
            <Input
              {...control}
              type="date"
              value={range.to}
              min={range.from}
              onChange={(event) => onRange({ ...range, to: event.target.value })}
            />
          )}
        </Field>
      </div>
      <div className="w-48">
        <Field label={t("usage.user")}>
          {(control) => (
            <UserSelect
              control={control}
              value={userId}
              empty={t("usage.everybody")}
              onChange={onUser}
            />
          )}
        </Field>
      </div>
    </div>
  );
}
