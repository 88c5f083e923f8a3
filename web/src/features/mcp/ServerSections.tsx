/** The user's own servers, then the shared ones. */

import { Plug } from "lucide-react";
import { useTranslation } from "react-i18next";

import { EmptyState } from "@/components/ui/States";

import type { UserServer } from "./queries";
import { ServerCard } from "./ServerCard";
import type { ServerActions } from "./useServerActions";

interface ServerSectionsProps {
  servers: UserServer[];
  actions: ServerActions;
}

export function ServerSections({ servers, actions }: ServerSectionsProps) {
  const { t } = useTranslation("mcp");
  const own = servers.filter((server) => server.scope === "user");
  const shared = servers.filter((server) => server.scope !== "user");
  return (
    <>
      <section aria-labelledby="own-servers" className="grid gap-3">
        <h2 id="own-servers" className="text-base font-semibold">
          {t("own")}
        </h2>
        {own.length === 0 ? (
          <div className="rounded-xl border border-dashed border-line-strong">
            <EmptyState icon={Plug} title={t("none")} text={t("noneText")} />
          </div>
        ) : (
          <ServerCards servers={own} actions={actions} label={t("own")} />
        )}
      </section>
      <section aria-labelledby="shared-servers" className="grid gap-3">
        <div>
          <h2 id="shared-servers" className="text-base font-semibold">
            {t("shared")}
          </h2>
          <p className="text-sm text-muted">
            {shared.length === 0 ? t("noneShared") : t("sharedText")}
          </p>
        </div>
        {shared.length > 0 && (
          <ServerCards servers={shared} actions={actions} label={t("shared")} />
        )}
      </section>
    </>
  );
}

function ServerCards({ servers, actions, label }: ServerSectionsProps & { label: string }) {
  return (
    <ul className="grid gap-3" aria-label={label}>
      {servers.map((server) => (
        <ServerCard
          key={server.name}
          server={server}
          trial={actions.trials.of(server.name)}
          onTest={() => actions.test(server.name)}
          onEdit={() => actions.open({ dialog: "edit", server })}
          onDelete={() => actions.open({ dialog: "delete", server })}
          onToggle={() => actions.toggle(server)}
          onCredentials={() => actions.open({ dialog: "credentials", server })}
        />
      ))}
    </ul>
  );
}
