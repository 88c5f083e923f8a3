/** `/settings`: the user's own account. */

import { useTranslation } from "react-i18next";

import { useMe } from "@/api/queries";
import { Page } from "@/components/ui/Page";
import { LoadingState } from "@/components/ui/States";
import { ApiKeys } from "@/features/settings/ApiKeys";
import { Invitations } from "@/features/settings/Invitations";
import { Memory } from "@/features/settings/Memory";
import { OwnUsage, WorkspaceUse } from "@/features/settings/OwnUsage";
import { PasswordForm } from "@/features/settings/PasswordForm";
import { ViewSettings } from "@/features/settings/ViewSettings";

export function SettingsPage() {
  const { t } = useTranslation("settings");
  const { t: common } = useTranslation();
  const me = useMe();
  return (
    <Page title={common("settings")} text={t("text")}>
      {me === undefined ? (
        <LoadingState />
      ) : (
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <div className="grid min-w-0 gap-4">
            <Invitations />
            <ViewSettings />
            <PasswordForm me={me} />
            <WorkspaceUse userId={me.id} />
          </div>
          <div className="grid min-w-0 gap-4">
            <ApiKeys />
            <Memory userId={me.id} />
            <OwnUsage />
          </div>
        </div>
      )}
    </Page>
  );
}
