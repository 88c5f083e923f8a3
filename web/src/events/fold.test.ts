/** What single events do to a turn; the figures' places are those that the server counted. */

import { describe, expect, test } from "vitest";

import { asSeen, play, recordingOf, RECORDINGS } from "./recorded";
import { activeTurn, answerText, openApprovals, type Part, type Turn } from "./state";
import type { RunEvent } from "./types";

function turnsOf(name: string): Turn[] {
  return play([{ type: "history", history: recordingOf(name).history }]).turns;
}

function only(name: string): Turn {
  const [turn] = turnsOf(name);
  if (turn === undefined) throw new Error("no turn");
  return turn;
}

function kinds(turn: Turn): Part["kind"][] {
  return turn.parts.map((part) => part.kind);
}

describe.each(RECORDINGS)("$name", ({ name, history }) => {
  test("the answer's text is the server's", () => {
    const said = history.messages
      .filter((message) => message.role === "assistant")
      .map((message) => message.content);
    expect(turnsOf(name).map(answerText)).toEqual(said);
  });

  test("each figure stands where the server says, inside one part", () => {
    for (const turn of turnsOf(name)) {
      const { verified, unbacked } = turn.end?.figures ?? { verified: [], unbacked: [] };
      const parts = turn.parts.filter((part) => part.kind === "text" && part.agent === null);
      for (const figure of [...verified, ...unbacked]) {
        const found = parts.flatMap((part) => {
          if (part.kind !== "text") return [];
          const points = Array.from(part.content);
          const text = points.slice(figure.start - part.start, figure.end - part.start).join("");
          return figure.start >= part.start && figure.start < part.start + points.length
            ? [text]
            : [];
        });
        expect(found).toEqual([figure.text]);
      }
    }
  });
});

test("the recordings have figures of both kinds, after emoji and after a gap", () => {
  const figures = only("figures").end?.figures;
  expect(figures?.verified.map((figure) => figure.text)).toEqual(["1,018.80", "471.25"]);
  expect(figures?.unbacked.map((figure) => figure.text)).toEqual(["77,777.77"]);
  expect(only("figures_of_upload").end?.figures?.verified).toHaveLength(3);
});

test("pieces of one text are one part, and so are pieces of one thought", () => {
  expect(kinds(only("text"))).toEqual(["text"]);
  expect(kinds(only("thinking"))).toEqual(["thinking", "text", "thinking", "text"]);
});

test("the plan stands once, as it is now", () => {
  const plan = only("plan").parts.filter((part) => part.kind === "todos");
  expect(plan).toHaveLength(1);
  expect(plan[0]?.kind === "todos" && plan[0].todos.map((todo) => todo.status)).toEqual([
    "completed",
    "in_progress",
  ]);
});

test("tools have their results, by call", () => {
  const tools = only("tools").parts.filter((part) => part.kind === "tool");
  expect(tools.map((part) => [part.name, part.status])).toEqual([
    ["ls", "success"],
    ["sql_db_list_tables", "success"],
    ["sql_db_query", "error"],
    ["no_such_tool", "error"],
  ]);
  expect(tools.every((part) => part.endedAt !== null)).toBe(true);
});

test("what a sub-agent says is its own", () => {
  const said = only("subagent").parts.flatMap((part) =>
    part.kind === "text" ? [[part.agent, part.content]] : [],
  );
  expect(said).toEqual([
    [null, "I ask somebody."],
    ["general-purpose", "Below."],
    ["general-purpose", "Still below."],
    [null, "Back again."],
  ]);
});

test("an agent that was chosen speaks as the one that answers", () => {
  const { history } = recordingOf("subagent");
  const messages = history.messages.map((message) => ({
    ...message,
    events: message.events.map((event) => {
      const data = event["data"] as { agent?: string | null };
      return data.agent === null
        ? { ...event, data: { ...data, agent: "sql", is_main: true } }
        : event;
    }),
  }));
  const { turns } = play([{ type: "history", history: { ...history, messages } }]);
  expect(turns).toEqual(turnsOf("subagent"));
});

test.each([
  ["text", "done"],
  ["stopped", "cancelled"],
  ["stopped_approval", "cancelled"],
  ["rejected", "cancelled"],
  ["failed", "failed"],
])("%s ends as %s", (name, status) => {
  expect(only(name).status).toBe(status);
});

test("an end leaves no tool running", () => {
  for (const { name } of RECORDINGS) {
    const running = turnsOf(name).flatMap((turn) =>
      turn.parts.filter((part) => part.kind === "tool" && part.status === "running"),
    );
    expect(running).toEqual([]);
  }
});

test("decisions of the history are shown", () => {
  const decided = (name: string) =>
    only(name).parts.flatMap((part) => (part.kind === "approval" ? [part.decision?.type] : []));
  expect(decided("approved")).toEqual(["approve"]);
  expect(decided("edited")).toEqual(["edit"]);
  expect(decided("rejected")).toEqual(["reject"]);
  expect(decided("several_approvals")).toEqual(["approve", "approve"]);
});

test("a request is open until the run goes on", () => {
  const recording = recordingOf("several_approvals");
  const seen = asSeen(recording);
  const isRequest = (event: RunEvent) => event.event_type === "hitl_request";
  const last = seen.findLastIndex((action) => action.type === "event" && isRequest(action.event));
  const waiting = activeTurn(play(seen.slice(0, last + 1)));
  const goesOn = activeTurn(play(seen.slice(0, last + 2)));
  expect(waiting && openApprovals(waiting)).toHaveLength(2);
  expect(goesOn && openApprovals(goesOn)).toEqual([]);
});

test("a question in the middle of a call is open while its call runs, whatever others do", () => {
  const seen = asSeen(recordingOf("several_approvals")).map((action) =>
    action.type === "event" && action.event.event_type === "hitl_request"
      ? { ...action, event: asQuestion(action.event) }
      : action,
  );
  const ends = seen.flatMap((action, at) =>
    action.type === "event" && action.event.event_type === "tool_result" ? [at] : [],
  );
  const [first = 0] = ends;
  const last = ends.at(-1) ?? 0;
  const amidst = activeTurn(play(seen.slice(0, first + 1)));
  const after = activeTurn(play(seen.slice(0, last + 1)));
  expect(first).toBeLessThan(last);
  expect(amidst && openApprovals(amidst)).toHaveLength(2);
  expect(after && openApprovals(after)).toEqual([]);
});

function asQuestion(event: Extract<RunEvent, { event_type: "hitl_request" }>): RunEvent {
  return { ...event, data: { ...event.data, request_id: `ask-${event.data.request_id}` } };
}

test("a request that the history knows as undecided is open, whatever came after it", () => {
  const recording = recordingOf("approved");
  const { history } = recording;
  const isDone = (event: unknown) => (event as RunEvent).event_type === "done";
  const messages = history.messages.map((message) => ({
    ...message,
    events: message.events.filter((event) => !isDone(event)),
    approvals: message.approvals.map((approval) => ({ ...approval, decision: null })),
  }));
  const turn = activeTurn(play([{ type: "history", history: { ...history, messages } }]));
  expect(turn && openApprovals(turn)).toHaveLength(1);
});

test.each([
  ["approved", [true]],
  ["several_approvals", [true, true]],
  ["tools", [false]],
] as const)("%s: which calls waited for an approval is known", (name, waited) => {
  const calls = turnsOf(name).flatMap((turn) => turn.parts.filter((part) => part.kind === "tool"));
  expect(calls.map((part) => part.hasWaited)).toEqual(expect.arrayContaining([...waited]));
  expect(calls.some((part) => part.hasWaited)).toBe(waited[0]);
});
