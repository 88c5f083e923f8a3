/** The files a result can be saved as. */

import { Download } from "lucide-react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/Button";
import { Menu, MenuItem, MenuLabel } from "@/components/ui/Menu";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";

import { download, downloadSmall } from "./download";
import { fileUrl, isGone } from "./queries";

interface DownloadMenuProps {
  tableId: string | null;
  chartId?: string;
}

const PICTURES = ["png", "svg"] as const;
const TABLES = ["csv", "csvForExcel", "xlsx", "parquet", "json"] as const;

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
