/** What the cards of charts and tables share: a frame, downloads, the SQL, a result that is gone. */

import { Download, ScrollText, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Button, IconButton } from "@/components/ui/Button";
import { Menu, MenuItem, MenuLabel } from "@/components/ui/Menu";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";

import { download, downloadSmall } from "./download";
import { fileUrl, isGone } from "./queries";

interface ResultCardProps {
  kind: "table" | "chart";
  icon: LucideIcon;
  title: string;
  note?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of a result in an answer: what it is, what can be done with it, the thing itself. */
export function ResultCard(props: ResultCardProps) {
  const { kind, icon: Icon, title, note, actions, children } = props;
  const { t } = useTranslation("results");
  return (
    <section
      aria-label={t(`cards.${kind}`, { title })}
      className="min-w-0 overflow-hidden rounded-xl border border-line bg-raised"
    >
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line py-1.5 pr-2 pl-3">
        <Icon className="size-4 shrink-0 text-muted" aria-hidden />
        <div className="min-w-40 flex-1">
          <h3 className="text-sm font-medium [overflow-wrap:anywhere]">{title}</h3>
          {note}
        </div>
        <div className="flex items-center gap-1">{actions}</div>
      </header>
      {children}
    </section>
  );
}

interface DownloadMenuProps {
  tableId: string | null;
  chartId?: string;
}

const PICTURES = ["png", "svg"] as const;
const TABLES = ["csv", "csvForExcel", "xlsx", "parquet", "json"] as const;

/** The files a result can be saved as. */
export function DownloadMenu({ tableId, chartId }: DownloadMenuProps) {
  const { t } = useTranslation("results");
  const errorText = useErrorText();
  const save = (saving: Promise<void>) => {
    saving.catch((error: unknown) =>
      toast(isGone(error) ? t("gone") : errorText(error), { tone: "danger" }),
    );
  };
  const tableUrl = (id: string, format: (typeof TABLES)[number]) =>
    format === "csvForExcel" ? `${fileUrl(id, "csv")}&bom=true` : fileUrl(id, format);
  return (
    <Menu trigger={<IconButton isSmall icon={Download} label={t("download")} />}>
      {chartId !== undefined && <MenuLabel>{t("picture")}</MenuLabel>}
      {chartId !== undefined &&
        PICTURES.map((format) => (
          <MenuItem key={format} onSelect={() => save(downloadSmall(fileUrl(chartId, format)))}>
            {t(`formats.${format}`)}
          </MenuItem>
        ))}
      {tableId !== null && <MenuLabel>{t("wholeTable")}</MenuLabel>}
      {tableId !== null &&
        TABLES.map((format) => (
          <MenuItem key={format} onSelect={() => save(download(tableUrl(tableId, format)))}>
            {t(`formats.${format}`)}
          </MenuItem>
        ))}
    </Menu>
  );
}

interface ShowSqlProps {
  isShown: boolean;
  onChange: (isShown: boolean) => void;
}

/** The switch that shows what a result rests on. */
export function ShowSql({ isShown, onChange }: ShowSqlProps) {
  const { t } = useTranslation("results");
  return (
    <Button
      size="small"
      variant="ghost"
      aria-expanded={isShown}
      aria-label={t("showSql")}
      title={t("showSql")}
      onClick={() => onChange(!isShown)}
    >
      <ScrollText className="size-3.5" aria-hidden />
      SQL
    </Button>
  );
}

/** In the place of a result that cannot be fetched: that it is gone, or why it did not come. */
export function Gone({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const { t } = useTranslation("results");
  const errorText = useErrorText();
  if (isGone(error)) return <Banner kind="warn">{t("gone")}</Banner>;
  return (
    <Banner
      kind="danger"
      action={
        <Button size="small" onClick={onRetry}>
          {t("tryAgain", { ns: "common" })}
        </Button>
      }
    >
      {errorText(error)}
    </Banner>
  );
}
