/** The values of the mark under the pointer. */

export interface Tip {
  x: number;
  y: number;
  /** Whether it stands left of the pointer: the right edge is near. */
  isLeft: boolean;
  values: [string, string][];
}

/** What vega says of a mark → what is shown; null: nothing. */
export function tipOf(event: MouseEvent, value: unknown, place: HTMLElement): Tip | null {
  if (typeof value !== "object" || value === null) return null;
  const box = place.getBoundingClientRect();
  const x = event.clientX - box.left;
  return {
    x,
    y: event.clientY - box.top,
    isLeft: x > box.width / 2,
    values: Object.entries(value).map(([name, each]) => [name, String(each)]),
  };
}

export function ChartTip({ tip }: { tip: Tip }) {
  return (
    <dl
      role="tooltip"
      className="pointer-events-none absolute z-10 grid max-w-72 grid-cols-[auto_auto] gap-x-3 rounded-lg border border-line bg-raised px-2.5 py-1.5 text-xs shadow-float"
      style={{
        left: tip.x,
        top: tip.y,
        transform: `translate(${tip.isLeft ? "calc(-100% - 4px)" : "28px"}, -50%)`,
      }}
    >
      {tip.values.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="text-right font-medium [overflow-wrap:anywhere] tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
