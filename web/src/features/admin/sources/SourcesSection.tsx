/** Databases and folders that can be asked, who may read them, and by which rules. */

import { useQuery } from "@tanstack/react-query";
import { DatabaseZap, Plus } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { EmptyState } from "@/components/ui/States";

import { useItem } from "../parts/item";
import { Loaded } from "../parts/Loaded";
import { Section } from "../parts/Section";
import { sourcesQuery } from "./queries";
import { SourceDialog } from "./SourceDialog";
import { SourceTable } from "./SourceTable";
import { SourceView } from "./SourceView";

export function SourcesSection() {
  const { t } = useTranslation("admin");
  const [openId, open] = useItem();
  const [isCreating, setIsCreating] = useState(false);
  const sources = useQuery(sourcesQuery);
  const opened = sources.data?.items.find((each) => each.source_id === openId);
  if (opened) return <SourceView source={opened} onBack={() => open(undefined)} />;
  return (
    <Section
      title={t("sections.sources")}
      text={t("sources.text")}
      actions={
        <Button variant="primary" onClick={() => setIsCreating(true)}>
          <Plus className="size-4" aria-hidden />
          {t("sources.add")}
        </Button>
      }
    >
      <Loaded query={sources}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={DatabaseZap} title={t("sources.none")} text={t("sources.noneText")} />
          ) : (
            <SourceTable sources={items} onOpen={open} />
          )
        }
      </Loaded>
      {isCreating && (
        <SourceDialog
          source={null}
          onClose={() => setIsCreating(false)}
          onCreated={(source) => open(source.source_id)}
        />
      )}
    </Section>
  );
}
