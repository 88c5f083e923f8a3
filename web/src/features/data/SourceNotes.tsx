/** What is to know about a data source: badges, and notes on what was left out of it. */

import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Banner } from "@/components/ui/Banner";
import { formatDateTime } from "@/lib/format";

import type { Catalogue, Source } from "./queries";

const DIALECTS: Readonly<Record<string, string>> = {
  sqlite: "SQLite",
  postgres: "PostgreSQL",
  mysql: "MySQL",
  duckdb: "DuckDB",
};

/** What kind of source it is, in a few words. */
export function SourceBadges({ source }: { source: Source }) {
  const { t } = useTranslation("data");
  const { dialect, kind } = source;
  return (
    <span className="flex flex-wrap gap-1.5">
      <Badge>{kind === "files" ? t("files") : t("database")}</Badge>
      {kind === "database" && dialect !== null && <Badge>{DIALECTS[dialect] ?? dialect}</Badge>}
      {source.is_sample && <Badge tone="accent">{t("sample")}</Badge>}
    </span>
  );
}

/** What is wrong with a source, was left out of it, or has changed in it. */
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
