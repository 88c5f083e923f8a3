/** A chart, as wide as its place. What points at a mark shows the mark's values. */

import "./chart.css";

import { useEffect, useRef, useState } from "react";

import type { CleanSpec } from "./cleanSpec";
import { ChartTip, tipOf, type Tip } from "./ChartTip";
import type { Drawn } from "./draw";
import { usePageLook } from "./usePageLook";

interface ChartViewProps {
  chart: CleanSpec;
  label: string;
  onFailure: (error: unknown) => void;
}

export function ChartView({ chart, label, onFailure }: ChartViewProps) {
  const place = useRef<HTMLDivElement>(null);
  const look = usePageLook();
  const [tip, setTip] = useState<Tip | null>(null);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let drawn: Drawn | null = null;
    const ending = new AbortController();
    const isOver = () => ending.signal.aborted;
    const start = async () => {
      const { drawChart } = await import("./draw");
      if (isOver()) return;
      const onTooltip = (_: unknown, event: MouseEvent, __: unknown, value: unknown) =>
        setTip(tipOf(event, value, element));
      const width = element.clientWidth;
      const made = await drawChart(element, chart, { width, label, onTooltip });
      if (isOver()) made.end();
      else drawn = made;
    };
    start().catch((error: unknown) => {
      if (!isOver()) onFailure(error);
    });
    const observer = new ResizeObserver(() => drawn?.resize(element.clientWidth));
    observer.observe(element);
    return () => {
      ending.abort();
      observer.disconnect();
      drawn?.end();
      element.replaceChildren();
    };
  }, [chart, label, look, onFailure]);

  return (
    <div className="relative px-3 py-2">
      <div
        role="img"
        aria-label={label}
        tabIndex={0} // it may be wider than its place
        className="min-h-72 overflow-x-auto overflow-y-hidden"
      >
        <div ref={place} />
      </div>
      {tip && <ChartTip tip={tip} />}
    </div>
  );
}
