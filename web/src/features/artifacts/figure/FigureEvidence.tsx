/** Where a verified figure stands: the result, the row in it, the arithmetic, the statement. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { CodeBlock } from "@/components/CodeBlock";
import { Button } from "@/components/ui/Button";
import { LoadingState } from "@/components/ui/States";
import type { VerifiedFigure } from "@/events/types";

import { rowsQuery, type Artifact } from "../queries";
import { Gone } from "../ResultCard";
import { SmallTable } from "../table/SmallTable";
import { TableViewer } from "../table/TableViewer";
import { evidenceRowsOf, howKey, readableExpression, windowAround } from "./evidence";

export function FigureEvidence({ figure }: { figure: VerifiedFigure }) {
  const { t } = useTranslation("results");
  const [isOpen, setIsOpen] = useState(false);
  const { offset, limit } = windowAround(evidenceRowsOf(figure)[0] ?? 0);
  const query = useQuery(rowsQuery(figure.artifact_id, offset, limit));
  const artifact = query.data;
  return (
    <div className="grid min-w-0 gap-2">
      <p>{t(howKey(figure), { column: figure.column ?? "" })}</p>
      {query.isLoading && <LoadingState lines={3} />}
      {query.error && <Gone error={query.error} onRetry={() => void query.refetch()} />}
      {artifact && <Place figure={figure} artifact={artifact} offset={offset} />}
      {artifact?.receipt && (
        <CodeBlock
          code={artifact.receipt.sql_executed}
          language="sql"
          label={t("receipt.executedOn", { source: artifact.receipt.source_name })}
        />
      )}
      {artifact && (
        <div>
          <Button size="small" onClick={() => setIsOpen(true)}>
            {t("openTable")}
          </Button>
          <TableViewer
            artifactId={artifact.artifact_id}
            title={artifact.title}
            isOpen={isOpen}
            onClose={() => setIsOpen(false)}
          />
        </div>
      )}
    </div>
  );
}

interface PlaceProps {
  figure: VerifiedFigure;
  artifact: Artifact;
  offset: number;
}

function Place({ figure, artifact, offset }: PlaceProps) {
  const { t } = useTranslation("results");
  const names = artifact.columns.map((column) => column.name);
  const rows = evidenceRowsOf(figure);
  const [row] = rows;
  const column = figure.column === undefined ? -1 : names.indexOf(figure.column);
  return (
    <>
      <p className="text-xs text-muted [overflow-wrap:anywhere]">{artifact.title}</p>
      {figure.expression !== undefined && (
        <p className="rounded-md bg-sunken px-2 py-1 font-mono text-xs [overflow-wrap:anywhere]">
          {readableExpression(figure.expression, names, (counted) => t("row", { row: counted }))}
        </p>
      )}
      {row !== undefined && (
        <div className="rounded-lg border border-line">
          <SmallTable
            label={t("rowsAround", { row: row + 1 })}
            columns={artifact.columns}
            rows={artifact.page?.rows ?? []}
            firstRow={offset + 1}
            marked={{ row: row - offset, column: column === -1 ? null : column }}
          />
        </div>
      )}
    </>
  );
}
