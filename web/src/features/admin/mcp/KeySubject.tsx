/** Choose the API key whose list it is: first its user, then the key. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Field } from "@/components/ui/Field";
import { Select } from "@/components/ui/Input";

import { UserSelect } from "../parts/UserSelect";
import { keysQuery } from "../users/queries";

interface KeySubjectProps {
  keyId: string;
  onChange: (keyId: string) => void;
}

export function KeySubject({ keyId, onChange }: KeySubjectProps) {
  const { t } = useTranslation("mcpAdmin");
  const [userId, setUserId] = useState("");
  const keys = useQuery({ ...keysQuery(userId), enabled: userId !== "" }).data?.items;
  return (
    <>
      <div className="w-full sm:w-56">
        <Field label={t("allow.user")}>
          {(control) => (
            <UserSelect
              control={control}
              value={userId}
              empty={t("allow.choose")}
              onChange={(chosen) => {
                setUserId(chosen);
                onChange("");
              }}
            />
          )}
        </Field>
      </div>
      <div className="w-full sm:w-56">
        <Field label={t("allow.key")} hint={keys?.length === 0 ? t("allow.noKeys") : undefined}>
          {(control) => (
            <Select
              {...control}
              value={keyId}
              disabled={keys === undefined || keys.length === 0}
              onChange={(event) => onChange(event.target.value)}
            >
              <option value="">{t("allow.choose")}</option>
              {keys?.map((key) => (
                <option key={key.id} value={key.id}>
                  {key.name} ({key.prefix}…)
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
    </>
  );
}
