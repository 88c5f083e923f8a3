/** Whose a server is, in words. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { useNameOf } from "../parts/people";
import { tenantsQuery } from "../tenants/queries";
import type { SharedServer } from "./sharedForm";

export function useWhose(): (server: SharedServer) => string {
  const { t } = useTranslation("mcpAdmin");
  const nameOf = useNameOf();
  const tenants = useQuery(tenantsQuery).data?.items ?? [];
  return ({ scope, tenant_id: tenantId, user_id: userId }) => {
    if (scope === "user") return t("registry.userOf", { name: nameOf(userId ?? "") });
    if (scope !== "tenant") return t("registry.everyone");
    const tenant = tenants.find((each) => each.tenant_id === tenantId);
    return t("registry.tenantOf", { name: tenant?.name ?? tenantId ?? "" });
  };
}
