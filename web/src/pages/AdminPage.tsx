/** `/admin/$section`: the administration, for administrators. */

import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { Suspense } from "react";
import { useTranslation } from "react-i18next";

import { meQuery } from "@/api/queries";
import { ErrorBoundary } from "@/components/ErrorBoundary";
import { Select } from "@/components/ui/Field";
import { Page } from "@/components/ui/Page";
import { EmptyState, LoadingState } from "@/components/ui/States";
import { Loaded, NoPermission } from "@/features/admin/kit/load";
import { SectionList, sectionOf, SECTIONS } from "@/features/admin/sections";

export function AdminPage() {
  const { section } = useParams({ from: "/shell/admin/$section" });
  const me = useQuery(meQuery);
  return (
    <Loaded query={me}>
      {({ role }) => (role === "admin" ? <Sections id={section} /> : <NoPermission />)}
    </Loaded>
  );
}

function Sections({ id }: { id: string }) {
  const { t } = useTranslation("admin");
  const section = sectionOf(id);
  return (
    <Page title={t("title")} text={t("text")}>
      <div className="grid min-w-0 items-start gap-5 lg:grid-cols-[12rem_minmax(0,1fr)]">
        <SectionChoice id={id} />
        <SectionList />
        <ErrorBoundary key={id}>
          <Suspense fallback={<LoadingState />}>
            {section === undefined ? <NoSuchSection /> : <section.View />}
          </Suspense>
        </ErrorBoundary>
      </div>
    </Page>
  );
}

/** At phone width a list to choose from, in the place of the links. */
function SectionChoice({ id }: { id: string }) {
  const { t } = useTranslation("admin");
  const navigate = useNavigate();
  const open = (section: string) => void navigate({ to: "/admin/$section", params: { section } });
  return (
    <div className="lg:hidden">
      <Select
        aria-label={t("sectionsLabel")}
        value={sectionOf(id)?.id ?? ""}
        onChange={(event) => open(event.target.value)}
      >
        {sectionOf(id) === undefined && <option value="" />}
        {SECTIONS.map((each) => (
          <option key={each.id} value={each.id}>
            {t(`sections.${each.title}`)}
          </option>
        ))}
      </Select>
    </div>
  );
}

function NoSuchSection() {
  const { t } = useTranslation();
  const { t: admin } = useTranslation("admin");
  return (
    <EmptyState
      icon={Compass}
      title={t("notFound")}
      action={
        <Link to="/admin/$section" params={{ section: "users" }} className="text-accent underline">
          {admin("toUsers")}
        </Link>
      }
    />
  );
}
