/** A user's attributes, such as a region, that row rules can refer to. */

import { queryOptions, useQuery } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { Button, IconButton } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { Input, Select, Textarea } from "@/components/ui/Field";

import { Problem, useChange } from "../kit/change";
import { Loaded } from "../kit/load";
import type { User } from "../kit/people";
import {
  attributesOf,
  linesOf,
  problemOf,
  type AttributeKind,
  type AttributeLine,
  type AttributeProblem,
  type Attributes,
} from "./attributeLines";

/** Never from the cache: they are saved as a whole, and would undo what was changed elsewhere. */
const attributesQuery = (userId: string) =>
  queryOptions({
    queryKey: ["admin", "attributes", userId],
    queryFn: () =>
      call(
        api.GET("/api/v1/users/{user_id}/attributes", { params: { path: { user_id: userId } } }),
      ),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });

interface AttributesDialogProps {
  user: User;
  onClose: () => void;
}

export function AttributesDialog({ user, onClose }: AttributesDialogProps) {
  const { t } = useTranslation("admin");
  const attributes = useQuery(attributesQuery(user.id));
  return (
    <Dialog
      isOpen
      isSticky
      onClose={onClose}
      title={t("users.attributes.title", { name: user.username })}
      description={t("users.attributes.text")}
    >
      <Loaded query={attributes} lines={3}>
        {(loaded) => (
          <AttributesForm user={user} attributes={loaded.attributes} onClose={onClose} />
        )}
      </Loaded>
    </Dialog>
  );
}

const NEW_LINE: AttributeLine = { name: "", kind: "text", text: "" };

interface AttributesFormProps extends AttributesDialogProps {
  attributes: Attributes;
}

/** The lines are changed and saved together. */
function AttributesForm({ user, attributes, onClose }: AttributesFormProps) {
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
  return (
    <form className="grid gap-3 pb-3" onSubmit={submit} noValidate>
      {lines.length === 0 && <p className="text-sm text-muted">{t("users.attributes.none")}</p>}
      {lines.map((line, at) => (
        <AttributeFields
          key={at}
          line={line}
          problem={wasSubmitted ? problemOf(line, lines) : null}
          onChange={(changed) => setLines(lines.with(at, changed))}
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

const KINDS: readonly AttributeKind[] = ["text", "number", "yesNo", "list"];

interface AttributeFieldsProps {
  line: AttributeLine;
  problem: AttributeProblem | null;
  onChange: (line: AttributeLine) => void;
  onRemove: () => void;
}

function AttributeFields({ line, problem, onChange, onRemove }: AttributeFieldsProps) {
  const { t } = useTranslation("admin");
  const changeKind = (value: string) => {
    const kind = KINDS.find((each) => each === value) ?? "text";
    onChange({ ...line, kind, text: kind === "yesNo" ? "true" : line.text });
  };
  return (
    <fieldset className="grid gap-2 rounded-lg border border-line p-2">
      <legend className="sr-only">{line.name || t("users.attributes.new")}</legend>
      <div className="flex gap-2">
        <Input
          aria-label={t("users.attributes.name")}
          placeholder={t("users.attributes.nameExample")}
          aria-invalid={problem?.includes("Name") === true || undefined}
          value={line.name}
          spellCheck={false}
          onChange={(event) => onChange({ ...line, name: event.target.value })}
        />
        <Select
          aria-label={t("users.attributes.kind")}
          className="w-36"
          value={line.kind}
          onChange={(event) => changeKind(event.target.value)}
        >
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {t(`users.attributes.kinds.${kind}`)}
            </option>
          ))}
        </Select>
        <IconButton
          icon={Trash2}
          label={t("users.attributes.remove", { name: line.name })}
          onClick={onRemove}
        />
      </div>
      <ValueField line={line} onChange={(text) => onChange({ ...line, text })} />
      {problem !== null && (
        <p role="alert" className="text-sm text-danger">
          {t(`users.attributes.problems.${problem}`)}
        </p>
      )}
    </fieldset>
  );
}

function ValueField({ line, onChange }: { line: AttributeLine; onChange: (text: string) => void }) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const props = {
    "aria-label": t("users.attributes.value"),
    value: line.text,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  switch (line.kind) {
    case "yesNo":
      return (
        <Select {...props}>
          <option value="true">{common("yes")}</option>
          <option value="false">{common("no")}</option>
        </Select>
      );
    case "list":
      return <Textarea {...props} placeholder={t("users.attributes.listHint")} />;
    case "text":
    case "number":
      return (
        <Input
          {...props}
          placeholder={t("users.attributes.value")}
          inputMode={line.kind === "number" ? "decimal" : "text"}
        />
      );
  }
}
