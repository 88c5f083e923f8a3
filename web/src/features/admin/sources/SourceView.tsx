/** One data source: what it is, who may read it, its rules, and how a user sees it. */

import { ArrowLeft } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Button } from "@/components/ui/Button";
import { Tabs } from "@/components/ui/Tabs";

import { Section } from "../parts/Section";
import { AccessTab } from "./AccessTab";
import { CatalogueCard } from "./CatalogueCard";
import { DeleteSourceDialog } from "./DeleteSourceDialog";
import { PoliciesTab } from "./PoliciesTab";
import type { Source } from "./queries";
import { SourceDialog } from "./SourceDialog";
import { SourceFacts } from "./SourceFacts";
import { ViewAsTab } from "./ViewAsTab";

interface SourceViewProps {
  source: Source;
  onBack: () => void;
}

type Opened = "edit" | "delete" | null;

export function SourceView({ source, onBack }: SourceViewProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const [opened, setOpened] = useState<Opened>(null);
  const close = () => setOpened(null);
  return (
    <div className="grid min-w-0 gap-3">
      <div>
        <Button size="small" variant="ghost" onClick={onBack}>
          <ArrowLeft className="size-4" aria-hidden />
          {t("sources.back")}
        </Button>
      </div>
      <Section
        title={source.name}
        text={source.description}
        actions={
          <>
            <Button disabled={source.is_from_config} onClick={() => setOpened("edit")}>
              {common("edit")}
            </Button>
            <Button
              variant="danger"
              disabled={source.is_from_config}
              onClick={() => setOpened("delete")}
            >
              {common("delete")}
            </Button>
          </>
        }
      >
        {source.is_from_config && (
          <p className="text-sm text-muted">
            <Badge>{t("sources.fromConfig")}</Badge> {t("sources.fromConfigText")}
          </p>
        )}
        <Tabs
          label={source.name}
          tabs={[
            {
              value: "overview",
              label: t("sources.tabs.overview"),
              content: (
                <div className="grid gap-4">
                  <SourceFacts source={source} />
                  <CatalogueCard source={source} />
                </div>
              ),
            },
            {
              value: "access",
              label: t("sources.tabs.access"),
              content: <AccessTab key={source.updated_at} source={source} />,
            },
            {
              value: "policies",
              label: t("sources.tabs.policies"),
              content: <PoliciesTab source={source} />,
            },
            {
              value: "view-as",
              label: t("sources.tabs.viewAs"),
              content: <ViewAsTab source={source} />,
            },
          ]}
        />
      </Section>
      {opened === "edit" && <SourceDialog source={source} onClose={close} />}
      {opened === "delete" && (
        <DeleteSourceDialog source={source} onClose={close} onDone={onBack} />
      )}
    </div>
  );
}
