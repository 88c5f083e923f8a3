/** What was used, by day and user, and what it cost. */

import { useQuery } from "@tanstack/react-query";
import { ChartNoAxesColumn } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { EmptyState } from "@/components/ui/States";

import { Loaded } from "../parts/Loaded";
import { Section } from "../parts/Section";
import { usageQuery } from "./queries";
import { daysOf, lastDays } from "./range";
import type { DayUsage, Measure } from "./stacks";
import { UsageCharts } from "./UsageCharts";
import { UsageFilter } from "./UsageFilter";

const USUAL_DAYS = 30;

export function UsageSection() {
  const { t } = useTranslation("admin");
  const [now] = useState(() => Date.now());
  const [range, setRange] = useState(() => lastDays(USUAL_DAYS, now));
  const [userId, setUserId] = useState("");
  const [measure, setMeasure] = useState<Measure>("tokens");
  const days = daysOf(range);
  return (
    <Section title={t("sections.usage")} text={t("usage.text")}>
      <UsageFilter now={now} range={range} userId={userId} onRange={setRange} onUser={setUserId} />
      {days.length === 0 ? (
        <Banner kind="warn">{t("usage.badRange")}</Banner>
      ) : (
        <Found range={range} userId={userId}>
          {(usage) => (
            <UsageCharts usage={usage} days={days} measure={measure} onMeasure={setMeasure} />
          )}
        </Found>
      )}
    </Section>
  );
}

interface FoundProps {
  range: { from: string; to: string };
  userId: string;
  children: (usage: DayUsage[]) => ReactNode;
}

function Found({ range, userId, children }: FoundProps) {
  const { t } = useTranslation("admin");
  const usage = useQuery(usageQuery(range, userId));
  return (
    <Loaded query={usage}>
      {(found) =>
        found.length === 0 ? (
          <EmptyState icon={ChartNoAxesColumn} title={t("usage.none")} text={t("usage.noneText")} />
        ) : (
          children(found)
        )
      }
    </Loaded>
  );
}
