/** Who may read a data source: everyone, or named users, tenants and agents. */

import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { agentsQuery } from "@/api/queries";
import { Button, IconButton } from "@/components/ui/Button";
import { Checkbox, Select } from "@/components/ui/Field";
import { Card } from "@/components/ui/Page";
import type { Source } from "@/features/data/queries";

import { Problem, useChange } from "../kit/change";
import { usePeople } from "../kit/people";
import { tenantsQuery } from "../queries";
import { pathOf, SOURCE_KEYS } from "./queries";

type NamedKind = Exclude<Grant["subject_kind"], "everyone">;

const NAMED_KINDS: readonly NamedKind[] = ["user", "tenant", "agent"];

/** The users, tenants and agents that can be granted a source. */
function useSubjects(): Record<NamedKind, { id: string; name: string }[]> {
  const people = usePeople();
  const tenants = useQuery(tenantsQuery).data?.items ?? [];
  const agents = useQuery(agentsQuery).data?.items ?? [];
  return {
    user: people.map(({ id, username }) => ({ id, name: username })),
    tenant: tenants.map(({ tenant_id, name }) => ({ id: tenant_id, name })),
    agent: agents.map(({ id, name }) => ({ id, name })),
  };
}

export function AccessTab({ source }: { source: Source }) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const subjects = useSubjects();
  const [grants, setGrants] = useState(source.grants ?? []);
  const isOpen = isForEveryone(grants);
  const named = removed(grants, EVERYONE);
  const save = useChange(
    () => {
      const request = { params: pathOf(source), body: { grants } };
      return call(api.PUT("/api/v1/data-sources/{source_id}/grants", request));
    },
    { keys: SOURCE_KEYS, done: common("saved") },
  );
  /** An unknown id is shown as such: it may be a mistake. */
  const nameOf = ({ subject_kind: kind, subject_id: id }: Grant) => {
    if (kind === "everyone") return t("sources.everyone");
    if (subjects[kind].length === 0) return id; // not loaded yet
    const known = subjects[kind].find((each) => each.id === id);
    return known?.name ?? t("sources.access.unknown", { id });
  };
  return (
    <Card title={t("sources.access.title")}>
      <fieldset disabled={source.is_from_config} className="grid gap-4">
        <p className="text-sm text-muted">{t("sources.access.text")}</p>
        <Checkbox
          label={t("sources.access.everyone")}
          checked={isOpen}
          onChange={(event) =>
            setGrants(event.target.checked ? added(grants, EVERYONE) : removed(grants, EVERYONE))
          }
        />
        <ul className="grid gap-1" aria-label={t("sources.access.named")}>
          {named.map((grant) => (
            <li
              key={grantKey(grant)}
              className="flex items-center gap-2 rounded-lg border border-line px-3 py-1 text-sm"
            >
              <span className="text-muted">{t(`sources.subjects.${grant.subject_kind}`)}</span>
              <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{nameOf(grant)}</span>
              <IconButton
                icon={X}
                label={t("sources.access.remove", { name: nameOf(grant) })}
                onClick={() => setGrants(removed(grants, grant))}
                isSmall
              />
            </li>
          ))}
        </ul>
        {!isOpen && named.length === 0 && (
          <p className="text-sm text-muted">{t("sources.access.nobody")}</p>
        )}
        <AddGrant onAdd={(grant) => setGrants(added(grants, grant))} />
        <Problem error={save.error} />
        <div className="flex justify-end">
          <Button variant="primary" isBusy={save.isPending} onClick={() => save.mutate(undefined)}>
            {t("sources.access.save")}
          </Button>
        </div>
      </fieldset>
    </Card>
  );
}

function AddGrant({ onAdd }: { onAdd: (grant: Grant) => void }) {
  const { t } = useTranslation("admin");
  const subjects = useSubjects();
  const [kind, setKind] = useState<NamedKind>("user");
  const [id, setId] = useState("");
  const add = () => {
    onAdd({ subject_kind: kind, subject_id: id });
    setId("");
  };
  return (
    <div className="flex flex-wrap gap-2">
      <Select
        aria-label={t("sources.access.kind")}
        className="w-32"
        value={kind}
        onChange={(event) => {
          setKind(NAMED_KINDS.find((each) => each === event.target.value) ?? "user");
          setId("");
        }}
      >
        {NAMED_KINDS.map((each) => (
          <option key={each} value={each}>
            {t(`sources.subjects.${each}`)}
          </option>
        ))}
      </Select>
      <Select
        aria-label={t("sources.access.who")}
        className="w-56 max-w-full flex-1"
        value={id}
        onChange={(event) => setId(event.target.value)}
      >
        <option value="">{t("sources.access.choose")}</option>
        {subjects[kind].map((each) => (
          <option key={each.id} value={each.id}>
            {each.name}
          </option>
        ))}
      </Select>
      <Button disabled={id === ""} onClick={add}>
        {t("sources.access.add")}
      </Button>
    </div>
  );
}

type Grant = Schemas["GrantInfo"];

export const EVERYONE: Grant = { subject_kind: "everyone", subject_id: "" };

export function isForEveryone(grants: readonly Grant[]): boolean {
  return grants.some((grant) => grant.subject_kind === "everyone");
}

function grantKey(grant: Grant): string {
  return `${grant.subject_kind}:${grant.subject_id}`;
}

/** Adds a grant; the same one twice is one. */
export function added(grants: readonly Grant[], grant: Grant): Grant[] {
  return [...removed(grants, grant), grant];
}

export function removed(grants: readonly Grant[], grant: Grant): Grant[] {
  return grants.filter((each) => grantKey(each) !== grantKey(grant));
}
