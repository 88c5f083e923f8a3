/** Keys by their first characters, each with a way to end it. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { Table, type Column } from "@/components/ui/Table";
import { formatDate, formatDateTime } from "@/lib/format";

import { AskDialog } from "../parts/AskDialog";
import { useChange } from "../parts/change";
import type { User } from "../parts/people";
import { keysQuery } from "./queries";

type ApiKey = Schemas["ApiKeyInfo"];

export function KeyTable({ user, keys }: { user: User; keys: ApiKey[] }) {
  const { t } = useTranslation("admin");
  const [ending, setEnding] = useState<ApiKey | null>(null);
  const revoke = useChange(
    (key: ApiKey) => {
      const params = { path: { key_id: key.id }, query: { user_id: user.id } };
      return call(api.DELETE("/api/v1/api-keys/{key_id}", { params }));
    },
    { keys: [keysQuery(user.id).queryKey], onDone: () => setEnding(null) },
  );
  const columns: Column<ApiKey>[] = [
    { header: t("users.keys.name"), cell: (key) => key.name },
    { header: t("users.keys.prefix"), cell: (key) => <code>{key.prefix}…</code> },
    { header: t("users.since"), isMinor: true, cell: (key) => formatDate(key.created_at) },
    {
      header: t("users.keys.lastUsed"),
      isMinor: true,
      cell: (key) =>
        key.last_used === null ? t("users.keys.neverUsed") : formatDateTime(key.last_used),
    },
    {
      header: t("actions"),
      isRight: true,
      cell: (key) => (
        <Button
          size="small"
          variant="danger"
          aria-label={t("users.keys.endNamed", { name: key.name })}
          onClick={() => setEnding(key)}
        >
          {t("users.keys.end")}
        </Button>
      ),
    },
  ];
  return (
    <>
      <Table
        label={t("users.keys.title", { name: user.username })}
        columns={columns}
        rows={keys}
        rowKey={(key) => key.id}
      />
      {ending && (
        <AskDialog
          title={t("users.keys.endTitle", { name: ending.name })}
          text={t("users.keys.endText")}
          confirm={t("users.keys.end")}
          isDanger
          isBusy={revoke.isPending}
          error={revoke.error}
          onConfirm={() => revoke.mutate(ending)}
          onClose={() => {
            revoke.reset();
            setEnding(null);
          }}
        />
      )}
    </>
  );
}
