/** The lines of a user's attributes, to change and to save together. */

import { Plus } from "lucide-react";
import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button } from "@/components/ui/Button";

import { useChange } from "../parts/change";
import type { User } from "../parts/people";
import { Problem } from "../parts/Problem";
import { AttributeFields } from "./AttributeFields";
import {
  attributesOf,
  linesOf,
  problemOf,
  type AttributeLine,
  type Attributes,
} from "./attributes";
import { attributesQuery } from "./queries";

interface AttributesFormProps {
  user: User;
  attributes: Attributes;
  onClose: () => void;
}

const NEW_LINE: AttributeLine = { name: "", kind: "text", text: "" };

export function AttributesForm({ user, attributes, onClose }: AttributesFormProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const [lines, setLines] = useState(() => linesOf(attributes));
  const [wasSubmitted, setWasSubmitted] = useState(false);
  const save = useChange(
    () => {
      const params = { path: { user_id: user.id } };
      const body = { attributes: attributesOf(lines) };
      return call(api.PUT("/api/v1/users/{user_id}/attributes", { params, body }));
    },
    {
      keys: [attributesQuery(user.id).queryKey, ["admin", "view-as"]],
      done: common("saved"),
      onDone: onClose,
    },
  );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    setWasSubmitted(true);
    if (lines.every((line) => problemOf(line, lines) === null)) save.mutate(undefined);
  };
  const put = (at: number, line: AttributeLine) => setLines(lines.with(at, line));
  return (
    <form className="grid gap-3 pb-3" onSubmit={submit} noValidate>
      {lines.length === 0 && <p className="text-sm text-muted">{t("users.attributes.none")}</p>}
      {lines.map((line, at) => (
        <AttributeFields
          key={at}
          line={line}
          problem={wasSubmitted ? problemOf(line, lines) : null}
          onChange={(changed) => put(at, changed)}
          onRemove={() => setLines(lines.toSpliced(at, 1))}
        />
      ))}
      <div>
        <Button size="small" onClick={() => setLines([...lines, { ...NEW_LINE }])}>
          <Plus className="size-4" aria-hidden />
          {t("users.attributes.add")}
        </Button>
      </div>
      <Problem error={save.error} />
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>{common("cancel")}</Button>
        <Button type="submit" variant="primary" isBusy={save.isPending}>
          {common("save")}
        </Button>
      </div>
    </form>
  );
}
