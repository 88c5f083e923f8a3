/** See a data source as one of its readers: which tables and columns, and what a query becomes. */

import { useQuery } from "@tanstack/react-query";
import { EyeOff, UserRoundSearch } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { ApiError } from "@/api/client";
import { Field } from "@/components/ui/Field";
import { EmptyState } from "@/components/ui/States";

import { Loaded } from "../parts/Loaded";
import { useNameOf } from "../parts/people";
import { UserSelect } from "../parts/UserSelect";
import { CheckAs } from "./CheckAs";
import { viewAsQuery, type Source } from "./queries";
import { VisibleTables } from "./VisibleTables";

export function ViewAsTab({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const [userId, setUserId] = useState("");
  return (
    <div className="grid gap-4">
      <p className="text-sm text-muted">{t("policies.viewAs.text")}</p>
      <div className="max-w-sm">
        <Field label={t("policies.viewAs.user")}>
          {(control) => (
            <UserSelect
              control={control}
              value={userId}
              empty={t("policies.chooseUser")}
              onChange={setUserId}
            />
          )}
        </Field>
      </div>
      {userId === "" ? (
        <EmptyState icon={UserRoundSearch} title={t("policies.viewAs.nobody")} />
      ) : (
        <Seen key={userId} source={source} userId={userId} />
      )}
    </div>
  );
}

function Seen({ source, userId }: { source: Source; userId: string }) {
  const { t } = useTranslation("admin");
  const name = useNameOf()(userId);
  const seen = useQuery(viewAsQuery(source.source_id, userId));
  if (seen.error instanceof ApiError && seen.error.status === 404)
    return (
      <EmptyState
        icon={EyeOff}
        title={t("policies.viewAs.nothing", { name })}
        text={t("policies.viewAs.nothingText")}
      />
    );
  return (
    <Loaded query={seen}>
      {({ tables }) => (
        <div className="grid gap-4">
          <VisibleTables tables={tables} name={name} />
          <CheckAs source={source} userId={userId} name={name} firstTable={tables[0]?.key} />
        </div>
      )}
    </Loaded>
  );
}
