/** Programs that users may have as servers. */

import { useQuery } from "@tanstack/react-query";
import { LayoutTemplate, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { IconButton } from "@/components/ui/IconButton";
import { EmptyState } from "@/components/ui/States";
import { Table, type Column } from "@/components/ui/Table";
import { formatCommandLine } from "@/features/mcp/commandLine";
import { templatesQuery } from "@/features/mcp/queries";

import { AskDialog } from "../parts/AskDialog";
import { useChange } from "../parts/change";
import { Loaded } from "../parts/Loaded";
import { MCP_KEYS, templates as store } from "./queries";
import { TemplateDialog } from "./TemplateDialog";
import type { Template } from "./templateForm";

type Opened =
  { dialog: "edit"; template: Template | null } | { dialog: "delete"; template: Template };

export function TemplatesTab() {
  const { t } = useTranslation("mcpAdmin");
  const templates = useQuery(templatesQuery);
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-start gap-3">
        <div className="flex-1 basis-60">
          <p className="max-w-2xl text-sm text-muted">{t("templates.text")}</p>
        </div>
        <Button variant="primary" onClick={() => setOpened({ dialog: "edit", template: null })}>
          <Plus className="size-4" aria-hidden />
          {t("templates.add")}
        </Button>
      </div>
      <Loaded query={templates}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState
              icon={LayoutTemplate}
              title={t("templates.none")}
              text={t("templates.noneText")}
            />
          ) : (
            <TemplateTable templates={items} onOpen={setOpened} />
          )
        }
      </Loaded>
      {opened?.dialog === "edit" && <TemplateDialog template={opened.template} onClose={close} />}
      {opened?.dialog === "delete" && (
        <DeleteTemplateDialog template={opened.template} onClose={close} />
      )}
    </div>
  );
}

interface TemplateTableProps {
  templates: Template[];
  onOpen: (opened: Opened) => void;
}

function TemplateTable({ templates, onOpen }: TemplateTableProps) {
  const { t } = useTranslation("mcpAdmin");
  const columns: Column<Template>[] = [
    {
      header: t("templates.name"),
      cell: (template) => (
        <>
          <p className="font-medium">{template.name}</p>
          <p className="text-xs text-muted [overflow-wrap:anywhere]">{template.description}</p>
        </>
      ),
    },
    {
      header: t("templates.command"),
      isMinor: true,
      cell: ({ command, args }) => (
        <code className="text-xs [overflow-wrap:anywhere]">
          {formatCommandLine({ command: command ?? "", args: args ?? [] })}
        </code>
      ),
    },
    {
      header: t("templates.parameters"),
      cell: ({ parameters }) =>
        parameters.map((each) => each.name).join(", ") || t("templates.noParameters"),
    },
    {
      header: t("templates.actions"),
      isRight: true,
      cell: (template) => (
        <span className="inline-flex">
          <IconButton
            isSmall
            icon={Pencil}
            label={t("templates.edit", { name: template.name })}
            onClick={() => onOpen({ dialog: "edit", template })}
          />
          <IconButton
            isSmall
            icon={Trash2}
            label={t("templates.delete", { name: template.name })}
            onClick={() => onOpen({ dialog: "delete", template })}
          />
        </span>
      ),
    },
  ];
  return (
    <Table
      label={t("registry.templates")}
      columns={columns}
      rows={templates}
      rowKey={(template) => template.template_id}
    />
  );
}

function DeleteTemplateDialog({ template, onClose }: { template: Template; onClose: () => void }) {
  const { t } = useTranslation("mcpAdmin");
  const { t: common } = useTranslation();
  const remove = useChange(() => store.remove(template.template_id), {
    keys: MCP_KEYS,
    done: t("templates.deleted", { name: template.name }),
    onDone: onClose,
  });
  return (
    <AskDialog
      isDanger
      title={t("templates.deleteTitle", { name: template.name })}
      text={t("templates.deleteText")}
      confirm={common("delete")}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(undefined)}
      onClose={onClose}
    />
  );
}
