/** Tenants the user may join. Nothing is shown where there is none. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { queryClient } from "@/api/queries";
import { Button } from "@/components/ui/Button";
import { Card } from "@/components/ui/Page";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";
import { formatDate } from "@/lib/format";

import { invitationsQuery } from "./queries";

type Invitation = Schemas["InvitationInfo"];

export function Invitations() {
  const { t } = useTranslation("settings");
  const errorText = useErrorText();
  const invitations = useQuery(invitationsQuery);
  const onError = (error: unknown) => toast(errorText(error), { tone: "danger" });
  const onSettled = () => queryClient.invalidateQueries({ queryKey: invitationsQuery.queryKey });
  const accepting = useMutation({
    mutationFn: ({ tenant_id }: Invitation) =>
      call(api.POST("/api/v1/invitations/{tenant_id}/accept", { params: { path: { tenant_id } } })),
    onSuccess: () => toast(t("invitations.accepted")),
    onError,
    onSettled,
  });
  const declining = useMutation({
    mutationFn: ({ tenant_id, user_id }: Invitation) =>
      call(
        api.DELETE("/api/v1/tenants/{tenant_id}/invitations/{user_id}", {
          params: { path: { tenant_id, user_id } },
        }),
      ),
    onSuccess: () => toast(t("invitations.declined")),
    onError,
    onSettled,
  });
  const items = invitations.data?.items ?? [];
  if (items.length === 0) return null;
  return (
    <Card title={t("invitations.title")}>
      <p className="text-sm text-muted">{t("invitations.text")}</p>
      <ul className="mt-2 divide-y divide-line">
        {items.map((each) => (
          <li key={each.tenant_id} className="flex flex-wrap items-center gap-3 py-2 text-sm">
            <div className="min-w-0 flex-1">
              <p className="truncate font-medium">{each.tenant_name}</p>
              <p className="text-xs text-muted">
                {t("invitations.until", { date: formatDate(each.expires_at) })}
              </p>
            </div>
            <Button isBusy={declining.isPending} onClick={() => declining.mutate(each)}>
              {t("invitations.decline")}
            </Button>
            <Button
              variant="primary"
              isBusy={accepting.isPending}
              onClick={() => accepting.mutate(each)}
            >
              {t("invitations.accept")}
            </Button>
          </li>
        ))}
      </ul>
    </Card>
  );
}
