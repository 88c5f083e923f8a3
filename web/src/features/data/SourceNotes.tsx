/** What is wrong with a source, was left out of it, or has changed in it. */

import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { formatDateTime } from "@/lib/format";

import type { Catalogue } from "./queries";

export function SourceNotes({ catalogue }: { catalogue: Catalogue }) {
  const { t } = useTranslation("data");
  const { problem, left_out: leftOut, drift, drifted_at: driftedAt } = catalogue;
  return (
    <>
      {problem !== null && (
        <Banner kind="warn">
          {t("problem", { when: formatDateTime(catalogue.refreshed_at) })} {problem}
        </Banner>
      )}
      {leftOut.length > 0 && (
        <Banner kind="warn">
          <Lines title={t("leftOut")} lines={leftOut} />
        </Banner>
      )}
      {drift.length > 0 && (
        <Banner>
          <Lines
            title={driftedAt ? t("driftAt", { when: formatDateTime(driftedAt) }) : t("drift")}
            lines={drift}
          />
        </Banner>
      )}
    </>
  );
}

function Lines({ title, lines }: { title: string; lines: string[] }) {
  return (
    <>
      <p>{title}</p>
      <ul className="list-disc pl-5">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </>
  );
}
