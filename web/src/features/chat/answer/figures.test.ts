import { describe, expect, it } from "vitest";

import { fold } from "@/events/fold";
import { newTurn } from "@/events/history";
import type { Turn } from "@/events/state";
import type { Figures, RunEvent } from "@/events/types";

import { figuresByPart } from "./segments";

function answered(...said: [agent: string | null, text: string][]): Turn {
  const events = said.map(([agent, content], at): RunEvent => ({
    event_type: "text",
    data: { content, is_final: true, is_main: agent === null, agent },
    timestamp: at,
    seq: at + 1,
    run_id: "run",
  }));
  return events.reduce(fold, newTurn("run"));
}

/** A figure where `text` stands in the whole answer, counted as the server does: in code points. */
function figureAt(answer: string, text: string): Figures["unbacked"][number] {
  const start = Array.from(answer.slice(0, answer.indexOf(text))).length;
  const end = start + Array.from(text).length;
  return { text, value: text, start, end, kind: "plain", reason: "no_match" };
}

function places(turn: Turn, unbacked: Figures["unbacked"]): [number, string][] {
  const found = figuresByPart(turn.parts, { verified: [], unbacked, is_complete: true });
  return turn.parts.flatMap((part) =>
    (found.get(part.key) ?? []).map(({ figure }): [number, string] => [
      part.key,
      part.kind === "text" ? Array.from(part.content).slice(figure.start, figure.end).join("") : "",
    ]),
  );
}

describe("figuresByPart", () => {
  it("finds figures in every piece of the text, counted in code points", () => {
    const turn = answered([null, "😀 12 件"], ["research", "99 of 98"], [null, "共 👩‍👩‍👧 34 万元"]);
    const whole = "😀 12 件\n\n共 👩‍👩‍👧 34 万元";
    const figures = [figureAt(whole, "12"), figureAt(whole, "34")];
    expect(places(turn, figures)).toEqual([
      [1, "12"],
      [3, "34"],
    ]);
  });

  it("marks nothing across the gap between two pieces, and nothing beyond the end", () => {
    const turn = answered([null, "1"], [null, "2"]);
    const across = { ...figureAt("1\n\n2", "1"), end: 4 };
    const beyond = { ...figureAt("1\n\n2", "2"), start: 50, end: 51 };
    expect(places(turn, [across, beyond])).toEqual([]);
  });

  it("gives nothing for an answer whose figures were not looked at", () => {
    expect(figuresByPart(answered([null, "1"]).parts, null).size).toBe(0);
  });
});
