/** The registry of MCP servers: servers, changed tools to review, templates. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Badge } from "@/components/ui/Badge";
import { Tabs } from "@/components/ui/Tabs";

import { Loaded } from "../parts/Loaded";
import { Section } from "../parts/Section";
import { catalogueQuery, registryQuery } from "./queries";
import { ReviewTab } from "./ReviewTab";
import { ServersTab } from "./ServersTab";
import { TemplatesTab } from "./TemplatesTab";
import { useRegistry } from "./useRegistry";

export function McpRegistrySection() {
  const { t } = useTranslation("mcpAdmin");
  const servers = useQuery(registryQuery);
  const waiting = useQuery(catalogueQuery({ status: "quarantined" }));
  const actions = useRegistry();
  const names = new Map(servers.data?.items.map((each) => [each.server_id, each.name]));
  const count = waiting.data?.total ?? 0;
  return (
    <Section title={t("registry.title")} text={t("registry.text")}>
      <Tabs
        label={t("registry.tabs")}
        tabs={[
          {
            value: "servers",
            label: t("registry.servers"),
            content: (
              <Loaded query={servers}>
                {({ items }) => <ServersTab servers={items} actions={actions} />}
              </Loaded>
            ),
          },
          {
            value: "review",
            label: (
              <span className="inline-flex items-center gap-2">
                {t("registry.review")}
                {count > 0 && <Badge tone="warn">{count}</Badge>}
              </span>
            ),
            content: <ReviewTab tools={waiting} serverName={(id) => names.get(id) ?? id} />,
          },
          { value: "templates", label: t("registry.templates"), content: <TemplatesTab /> },
        ]}
      />
    </Section>
  );
}
