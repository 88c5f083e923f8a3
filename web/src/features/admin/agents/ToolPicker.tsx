/** Choose tools: search, whole groups, single ones. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { Input } from "@/components/ui/Input";

import { searched, type ToolGroup } from "./toolGroups";
import { ToolGroupRows } from "./ToolGroupRows";

interface ToolPickerProps {
  groups: ToolGroup[];
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
  isDisabled?: boolean;
}

export function ToolPicker({ groups, chosen, onChange, isDisabled = false }: ToolPickerProps) {
  const { t } = useTranslation("mcpAdmin");
  const [wanted, setWanted] = useState("");
  const shown = searched(groups, wanted);
  const total = groups.reduce((sum, group) => sum + group.tools.length, 0);
  const known = new Set(groups.flatMap((group) => group.tools.map((tool) => tool.key)));
  const count = [...chosen].filter((key) => known.has(key)).length;
  const shownKeys = shown.flatMap((group) => group.tools.map((tool) => tool.key));
  const put = (keys: string[], isChosen: boolean) => {
    const next = new Set(chosen);
    for (const key of keys) {
      if (isChosen) next.add(key);
      else next.delete(key);
    }
    onChange(next);
  };
  return (
    <fieldset disabled={isDisabled} className="grid gap-2">
      <legend className="mb-1.5 text-sm font-medium">{t("picker.label")}</legend>
      <div className="flex flex-wrap items-center gap-2">
        <Input
          type="search"
          className="min-w-40 flex-1 basis-40"
          aria-label={t("picker.search")}
          placeholder={t("picker.search")}
          value={wanted}
          onChange={(event) => setWanted(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
        />
        <Button size="small" onClick={() => put(shownKeys, true)}>
          {t("picker.all")}
        </Button>
        <Button size="small" onClick={() => put(shownKeys, false)}>
          {t("picker.none")}
        </Button>
      </div>
      <div className="max-h-80 overflow-y-auto rounded-lg border border-line">
        {shown.length === 0 && <p className="p-3 text-sm text-muted">{t("picker.nothing")}</p>}
        {shown.map((group) => (
          <ToolGroupRows key={group.id} group={group} chosen={chosen} onPut={put} />
        ))}
      </div>
      <p className="text-xs text-muted" aria-live="polite">
        {t("picker.chosen", { count, total })}
      </p>
    </fieldset>
  );
}
