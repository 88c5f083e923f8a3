/** Who belongs to a tenant, and as what. */

import { useQuery } from "@tanstack/react-query";
import { UsersRound } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Dialog } from "@/components/ui/Dialog";
import { EmptyState } from "@/components/ui/States";

import { Loaded } from "../parts/Loaded";
import { Paging } from "../parts/Paging";
import { AddMember } from "./AddMember";
import { MemberTable } from "./MemberTable";
import { membersQuery } from "./queries";
import type { TenantDialogProps } from "./TenantTable";

const PAGE_SIZE = 50;

export function MembersDialog({ tenant, onClose }: TenantDialogProps) {
  const { t } = useTranslation("admin");
  const [offset, setOffset] = useState(0);
  const members = useQuery(membersQuery(tenant.tenant_id, offset, PAGE_SIZE));
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t("tenants.members.title", { name: tenant.name })}
      description={t("tenants.members.text")}
    >
      <Loaded query={members} lines={3}>
        {({ items, total }) => (
          <div className="grid gap-4 pb-3">
            {items.length === 0 ? (
              <EmptyState icon={UsersRound} title={t("tenants.members.none")} />
            ) : (
              <MemberTable tenant={tenant} members={items} />
            )}
            {(total > PAGE_SIZE || offset > 0) && (
              <Paging offset={offset} pageSize={PAGE_SIZE} total={total} onChange={setOffset} />
            )}
            <AddMember tenant={tenant} />
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}
