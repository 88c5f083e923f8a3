/** Tenants: groups of users with limits, switches and data of their own. */

import { useQuery } from "@tanstack/react-query";
import { Building2, Plus } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { infoQuery } from "@/api/queries";
import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { EmptyState } from "@/components/ui/States";

import { Loaded } from "../parts/Loaded";
import { Section } from "../parts/Section";
import { tenantsQuery } from "./queries";
import { TenantDialog } from "./TenantDialog";
import { TenantTable } from "./TenantTable";

export function TenantsSection() {
  const { t } = useTranslation("admin");
  const [isCreating, setIsCreating] = useState(false);
  const tenants = useQuery(tenantsQuery);
  const isOff = useQuery(infoQuery).data?.multi_tenant === false;
  return (
    <Section
      title={t("sections.tenants")}
      text={t("tenants.text")}
      actions={
        <Button variant="primary" disabled={isOff} onClick={() => setIsCreating(true)}>
          <Plus className="size-4" aria-hidden />
          {t("tenants.add")}
        </Button>
      }
    >
      {isOff && (
        <Banner>
          {t("tenants.off")} <code>DATAAGENT_MULTI_TENANT=true</code>
        </Banner>
      )}
      <Loaded query={tenants}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={Building2} title={t("tenants.none")} text={t("tenants.noneText")} />
          ) : (
            <TenantTable tenants={items} />
          )
        }
      </Loaded>
      {isCreating && <TenantDialog tenant={null} onClose={() => setIsCreating(false)} />}
    </Section>
  );
}
