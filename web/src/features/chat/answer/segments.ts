/** The parts of an answer in the order and the groups in which they are shown, with their figures. Pure. */

import { codePoints, type Part } from "@/events/state";
import type { Figures } from "@/events/types";
import type { MarkedFigure } from "@/features/artifacts/FigureMark";

interface PartSegment {
  kind: "part";
  key: number;
  part: Part;
}

export interface AgentSegment {
  kind: "agent";
  key: number;
  agent: string;
  parts: Part[];
}

type Segment = PartSegment | AgentSegment;

/**
 * What sub-agents that work side by side say is put in order: one group each, until the main agent
 * goes on. Results and requests stay outside: a folded group must not hide them. The call that
 * makes a plan is left out where the plan stands.
 */
export function segments(parts: readonly Part[]): Segment[] {
  const found: Segment[] = [];
  let open = new Map<string, AgentSegment>();
  let latest: AgentSegment | null = null;
  const hasPlan = parts.some((part) => part.kind === "todos");
  for (const part of parts) {
    const isLeftOut = hasPlan && isPlanning(part);
    const agent = "agent" in part ? part.agent : null;
    if (agent !== null) {
      if (isLeftOut) continue;
      latest = open.get(agent) ?? null;
      if (latest === null) {
        latest = { kind: "agent", key: part.key, agent, parts: [] };
        open.set(agent, latest);
        found.push(latest);
      }
      latest.parts.push(part);
    } else if (part.kind === "file" && latest !== null) {
      latest.parts.push(part);
    } else {
      if ("agent" in part) {
        open = new Map();
        latest = null;
      }
      if (!isLeftOut) found.push({ kind: "part", key: part.key, part });
    }
  }
  return found;
}

function isPlanning(part: Part): boolean {
  return part.kind === "tool" && part.name === "write_todos" && part.status === "success";
}

/** Part key → its figures, with offsets in the part's own text (code points). */
export function figuresByPart(
  parts: readonly Part[],
  figures: Figures | null,
): ReadonlyMap<number, MarkedFigure[]> {
  const found = new Map<number, MarkedFigure[]>();
  if (figures === null) return found;
  const all: MarkedFigure[] = [
    ...figures.verified.map((figure) => ({ isVerified: true as const, figure })),
    ...figures.unbacked.map((figure) => ({ isVerified: false as const, figure })),
  ];
  for (const part of parts) {
    if (part.kind !== "text" || part.agent !== null) continue;
    const length = codePoints(part.content);
    const inside = all.flatMap((marked) => shifted(marked, part.start, length));
    if (inside.length > 0) found.set(part.key, inside);
  }
  return found;
}

/** The figure counted from where a part begins; nothing if it is not inside. */
function shifted(marked: MarkedFigure, from: number, length: number): MarkedFigure[] {
  const start = marked.figure.start - from;
  const end = marked.figure.end - from;
  if (start < 0 || end > length) return [];
  return [
    marked.isVerified
      ? { isVerified: true, figure: { ...marked.figure, start, end } }
      : { isVerified: false, figure: { ...marked.figure, start, end } },
  ];
}
