/** Tools whose definition changed and that wait for somebody to look. */

import type { UseQueryResult } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Schemas } from "@/api/client";
import { Button } from "@/components/ui/Button";
import { EmptyState } from "@/components/ui/States";
import { Table, type Column } from "@/components/ui/Table";

import { Loaded } from "../parts/Loaded";
import { DiffDialog } from "./DiffDialog";
import type { McpTool } from "./queries";

interface ReviewTabProps {
  tools: UseQueryResult<Schemas["Page_McpToolInfo_"]>;
  serverName: (serverId: string) => string;
}

export function ReviewTab({ tools, serverName }: ReviewTabProps) {
  const { t } = useTranslation("mcpAdmin");
  const [reviewed, setReviewed] = useState<McpTool | null>(null);
  const columns: Column<McpTool>[] = [
    { header: t("tools.name"), cell: (tool) => <code>{tool.name}</code> },
    { header: t("review.server"), cell: (tool) => serverName(tool.server_id) },
    {
      header: t("registry.actions"),
      isRight: true,
      cell: (tool) => (
        <Button
          size="small"
          aria-label={t("tools.reviewTool", { name: tool.name })}
          onClick={() => setReviewed(tool)}
        >
          {t("tools.review")}
        </Button>
      ),
    },
  ];
  return (
    <Loaded query={tools}>
      {({ items }) =>
        items.length === 0 ? (
          <EmptyState icon={ShieldCheck} title={t("review.none")} text={t("review.noneText")} />
        ) : (
          <div className="grid gap-3">
            <p className="max-w-2xl text-sm text-muted">{t("review.text")}</p>
            <Table
              label={t("registry.review")}
              columns={columns}
              rows={items}
              rowKey={(tool) => tool.id}
            />
            {reviewed && <DiffDialog tool={reviewed} onClose={() => setReviewed(null)} />}
          </div>
        )
      }
    </Loaded>
  );
}
