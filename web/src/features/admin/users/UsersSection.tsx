/** The accounts: who may come in, and what for. */

import { useQuery } from "@tanstack/react-query";
import { Plus, UserRoundX } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { Input } from "@/components/ui/Input";
import { EmptyState } from "@/components/ui/States";

import { Loaded } from "../parts/Loaded";
import { Paging } from "../parts/Paging";
import { Section } from "../parts/Section";
import { CreateUserDialog } from "./CreateUserDialog";
import { PAGE_SIZE, usersQuery } from "./queries";
import { UserTable } from "./UserTable";

export function UsersSection() {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const [search, setSearch] = useState("");
  const [offset, setOffset] = useState(0);
  const [isCreating, setIsCreating] = useState(false);
  const users = useQuery(usersQuery(useDeferredValue(search.trim()), offset));
  return (
    <Section
      title={t("sections.users")}
      text={t("users.text")}
      actions={
        <Button variant="primary" onClick={() => setIsCreating(true)}>
          <Plus className="size-4" aria-hidden />
          {t("users.add")}
        </Button>
      }
    >
      <Input
        type="search"
        aria-label={t("users.search")}
        placeholder={t("users.search")}
        className="max-w-sm"
        value={search}
        onChange={(event) => {
          setSearch(event.target.value);
          setOffset(0);
        }}
      />
      <Loaded query={users}>
        {({ items, total }) => (
          <>
            {items.length === 0 ? (
              <EmptyState
                icon={UserRoundX}
                title={t("users.nobodyFound")}
                action={<Button onClick={() => setSearch("")}>{t("users.showAll")}</Button>}
              />
            ) : (
              <UserTable users={items} />
            )}
            <Paging offset={offset} pageSize={PAGE_SIZE} total={total} onChange={setOffset} />
          </>
        )}
      </Loaded>
      {isCreating && <CreateUserDialog onClose={() => setIsCreating(false)} />}
      <p className="text-xs text-muted">{t("users.loginHint", { app: common("appName") })}</p>
    </Section>
  );
}
