/** Everything that fits the filter as a file, made by the server while it is saved. */

import { Download } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Menu, MenuItem, MenuLabel } from "@/components/ui/Menu";
import { toast } from "@/components/ui/toast";
import { save } from "@/features/artifacts/download";
import { useErrorText } from "@/lib/errorText";
import { formatNumber } from "@/lib/format";

import { exportUrl, FORMATS, queryOf, type AuditFilter } from "./filter";

interface ExportMenuProps {
  filter: AuditFilter;
  /** How many rows fit, once it is known. */
  total: number | undefined;
}

export function ExportMenu({ filter, total }: ExportMenuProps) {
  const { t } = useTranslation("admin");
  const errorText = useErrorText();
  const start = async (format: (typeof FORMATS)[number]) => {
    try {
      await call(api.GET("/api/v1/audit", { params: { query: queryOf(filter, 0) } })); // may I?
      save(exportUrl(filter, format));
    } catch (error) {
      toast(errorText(error), { tone: "danger" });
    }
  };
  return (
    <Menu
      trigger={
        <Button>
          <Download className="size-4" aria-hidden />
          {t("audit.export.button")}
        </Button>
      }
    >
      {total !== undefined && (
        <MenuLabel>{t("audit.export.rows", { count: total, rows: formatNumber(total) })}</MenuLabel>
      )}
      {FORMATS.map((format) => (
        <MenuItem key={format} onSelect={() => void start(format)}>
          {t(`audit.export.formats.${format}`)}
        </MenuItem>
      ))}
    </Menu>
  );
}
