/** The parts of an answer, with those of a sub-agent together. Pure. */

import type { Part } from "@/events/state";

export interface PartSegment {
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

export type Segment = PartSegment | AgentSegment;

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
