/** Links to the sections of the administration, beside them on a wide page. */

import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";

import { SECTIONS } from "./sections";

export function SectionList() {
  const { t } = useTranslation("admin");
  return (
    <nav aria-label={t("sectionsLabel")} className="sticky top-6 hidden gap-0.5 lg:grid">
      {SECTIONS.map(({ id, title, icon: Icon }) => (
        <Link
          key={id}
          to="/admin/$section"
          params={{ section: id }}
          className="flex items-center gap-2.5 rounded-lg px-2.5 py-2 text-sm hover:bg-sunken"
          activeProps={{ className: "bg-accent-soft font-medium text-accent hover:bg-accent-soft" }}
          activeOptions={{ includeSearch: false }}
        >
          <Icon className="size-4 shrink-0" aria-hidden />
          {t(`sections.${title}`)}
        </Link>
      ))}
    </nav>
  );
}
