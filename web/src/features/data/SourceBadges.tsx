/** What kind of source it is, in a few words. */

import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";

import type { Source } from "./queries";

const DIALECTS: Readonly<Record<string, string>> = {
  sqlite: "SQLite",
  postgres: "PostgreSQL",
  mysql: "MySQL",
  duckdb: "DuckDB",
};

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
