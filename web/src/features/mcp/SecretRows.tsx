/** Names with secret values: add, replace, remove. A stored value is never shown. */

import { Plus, X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { Button, IconButton } from "@/components/ui/Button";
import { Input } from "@/components/ui/Field";

import { isKept, newRow, rowProblems, type RowProblem, type SecretRow } from "./secrets";

interface SecretRowsProps {
  rows: SecretRow[];
  onChange: (rows: SecretRow[]) => void;
  legend: string;
  hint: string;
  nameLabel: string;
  add: string;
  /** Mark rows that are not complete. */
  areProblemsShown: boolean;
  /** Values are shown: they are not secret. */
  arePlain?: boolean;
}

export function SecretRows(props: SecretRowsProps) {
  const { t } = useTranslation("mcp");
  const { rows, onChange } = props;
  const problems = props.areProblemsShown ? rowProblems(rows) : new Map<string, RowProblem>();
  const put = (changed: SecretRow) =>
    onChange(rows.map((row) => (row.id === changed.id ? changed : row)));
  return (
    <fieldset className="grid gap-1.5">
      <legend className="mb-1.5 text-sm font-medium">{props.legend}</legend>
      {rows.map((row) => (
        <Row
          key={row.id}
          row={row}
          nameLabel={props.nameLabel}
          problem={problems.get(row.id)}
          isPlain={props.arePlain === true}
          onChange={put}
          onRemove={() => onChange(rows.filter((each) => each.id !== row.id))}
        />
      ))}
      <div>
        <Button size="small" onClick={() => onChange([...rows, newRow()])}>
          <Plus className="size-4" aria-hidden />
          {props.add}
        </Button>
      </div>
      <p className="text-xs text-muted">
        {props.hint} {props.arePlain !== true && t("secretsHint")}
      </p>
    </fieldset>
  );
}

interface RowProps {
  row: SecretRow;
  nameLabel: string;
  problem: RowProblem | undefined;
  isPlain: boolean;
  onChange: (row: SecretRow) => void;
  onRemove: () => void;
}

function Row({ row, nameLabel, problem, isPlain, onChange, onRemove }: RowProps) {
  const { t } = useTranslation("mcp");
  const isValueWrong = problem === "value";
  return (
    <div className="grid gap-1">
      <div className="grid grid-cols-[1fr_auto] items-center gap-1.5 sm:grid-cols-[2fr_3fr_auto]">
        <Input
          aria-label={nameLabel}
          placeholder={nameLabel}
          value={row.name}
          autoComplete="off"
          spellCheck={false}
          aria-invalid={problem !== undefined && !isValueWrong ? true : undefined}
          onChange={(event) => onChange({ ...row, name: event.target.value })}
        />
        <Input
          className="col-start-1 sm:col-start-2"
          type={isPlain ? "text" : "password"}
          aria-label={row.name === "" ? t("value") : t("valueOf", { name: row.name })}
          placeholder={isKept(row) ? `•••• ${t("stored")}` : t("value")}
          value={row.value}
          autoComplete="new-password"
          spellCheck={false}
          aria-invalid={isValueWrong ? true : undefined}
          onChange={(event) => onChange({ ...row, value: event.target.value })}
        />
        <span className="col-start-2 row-start-1 sm:col-start-3">
          <IconButton
            isSmall
            icon={X}
            label={row.name === "" ? t("removeThis") : t("removeRow", { name: row.name })}
            onClick={onRemove}
          />
        </span>
      </div>
      {problem !== undefined && (
        <p role="alert" className="text-sm text-danger">
          {t(`rowProblems.${problem}`)}
        </p>
      )}
    </div>
  );
}
