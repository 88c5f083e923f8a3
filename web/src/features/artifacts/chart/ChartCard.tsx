/** A chart of a result, or its table where it cannot be drawn or the user prefers it. */

import { useQuery } from "@tanstack/react-query";
import { ChartColumn, Table2 } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { Button } from "@/components/ui/Button";
import { LoadingState } from "@/components/ui/States";

import { DownloadMenu } from "../DownloadMenu";
import { Gone } from "../Gone";
import { artifactQuery } from "../queries";
import { ResultCard } from "../ResultCard";
import { ChartView } from "./ChartView";
import { cleanSpec, SpecRefused, type CleanSpec } from "./cleanSpec";
import { TableOfChart } from "./TableOfChart";

interface ChartCardProps {
  artifactId: string;
  title: string;
  parentId: string | null;
}

/** The chart to draw, or why there is none. */
function prepared(spec: unknown): { chart: CleanSpec | null; failure: unknown } {
  try {
    return { chart: cleanSpec(spec), failure: null };
  } catch (failure) {
    return { chart: null, failure };
  }
}

export function ChartCard({ artifactId, title, parentId }: ChartCardProps) {
  const { t } = useTranslation("results");
  const [isTable, setIsTable] = useState(false);
  const [drawFailure, setDrawFailure] = useState<unknown>(null);
  const onFailure = useCallback((error: unknown) => setDrawFailure(error), []);
  const query = useQuery(artifactQuery(artifactId));
  const spec = query.data?.spec;
  const { chart, failure } = useMemo(
    () => (spec ? prepared(spec) : { chart: null, failure: null }),
    [spec],
  );
  const tableId = query.data?.parent_id ?? parentId;
  const problem = failure ?? drawFailure;
  const isTableShown = tableId !== null && (isTable || problem !== null);
  const Other = isTable ? ChartColumn : Table2;
  return (
    <ResultCard
      kind="chart"
      icon={ChartColumn}
      title={title}
      actions={
        <>
          {tableId !== null && problem === null && (
            <Button size="small" variant="ghost" onClick={() => setIsTable(!isTable)}>
              <Other className="size-3.5" aria-hidden />
              {isTable ? t("showChart") : t("showTable")}
            </Button>
          )}
          <DownloadMenu tableId={tableId} chartId={artifactId} />
        </>
      }
    >
      {query.isLoading && <LoadingState lines={5} />}
      {query.error && (
        <div className="p-3">
          <Gone error={query.error} onRetry={() => void query.refetch()} />
        </div>
      )}
      {problem !== null && <ChartProblem problem={problem} hasTable={tableId !== null} />}
      {isTableShown && <TableOfChart tableId={tableId} title={title} />}
      {chart && !isTableShown && problem === null && (
        <ChartView chart={chart} label={title} onFailure={onFailure} />
      )}
    </ResultCard>
  );
}

/**
 * What the drawing library says of its failure is for nobody here: only our own refusals are told.
 */
function ChartProblem({ problem, hasTable }: { problem: unknown; hasTable: boolean }) {
  const { t } = useTranslation("results");
  const isRefused = problem instanceof SpecRefused;
  return (
    <div className="p-3">
      <Banner kind="warn">
        {hasTable ? t("chartFailed") : t("chartFailedAlone")}{" "}
        {isRefused && t(`chartRefused.${problem.reason}`, { path: problem.path })}
      </Banner>
    </div>
  );
}
