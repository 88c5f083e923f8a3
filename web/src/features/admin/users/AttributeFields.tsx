/** One attribute: its name, what kind of value it has, and the value. */

import { Trash2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/IconButton";
import { Input, Select, Textarea } from "@/components/ui/Input";

import type { AttributeKind, AttributeLine, AttributeProblem } from "./attributes";

interface AttributeFieldsProps {
  line: AttributeLine;
  problem: AttributeProblem | null;
  onChange: (line: AttributeLine) => void;
  onRemove: () => void;
}

const KINDS: readonly AttributeKind[] = ["text", "number", "yesNo", "list"];

export function AttributeFields({ line, problem, onChange, onRemove }: AttributeFieldsProps) {
  const { t } = useTranslation("admin");
  const kindOf = (value: string) => KINDS.find((kind) => kind === value) ?? "text";
  const changeKind = (kind: AttributeKind) =>
    onChange({ ...line, kind, text: kind === "yesNo" ? "true" : line.text });
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
          onChange={(event) => changeKind(kindOf(event.target.value))}
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
  const label = t("users.attributes.value");
  switch (line.kind) {
    case "yesNo":
      return (
        <Select
          aria-label={label}
          value={line.text}
          onChange={(event) => onChange(event.target.value)}
        >
          <option value="true">{common("yes")}</option>
          <option value="false">{common("no")}</option>
        </Select>
      );
    case "list":
      return (
        <Textarea
          aria-label={label}
          placeholder={t("users.attributes.listHint")}
          value={line.text}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    default:
      return (
        <Input
          aria-label={label}
          placeholder={label}
          value={line.text}
          inputMode={line.kind === "number" ? "decimal" : "text"}
          onChange={(event) => onChange(event.target.value)}
        />
      );
  }
}
