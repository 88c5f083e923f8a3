/** However a conversation's events arrive, the page ends up the same. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  asSeen,
  historyAt,
  play,
  recordingOf,
  RECORDINGS,
  shown,
  type Recording,
} from "./recorded";
import type { ConversationAction } from "./reduce";
import type { ConversationState } from "./state";
import type { RunEvent } from "./types";

const name = fc.constantFrom(...RECORDINGS.map((each) => each.name));
const positions = fc.array(fc.nat({ max: 400 }), { maxLength: 6 });
const RUNS = { numRuns: 300 };

function stored({ history }: Recording): ConversationAction {
  return { type: "history", history };
}

function whole(each: Recording) {
  return shown(play([stored(each)]));
}

function after(seq: number, live: RunEvent[]): ConversationAction {
  return { type: "events", events: live.filter((event) => event.seq > seq) };
}

/** A history that the page reads at the end, when a decision or a question is not in the events. */
function settled(actions: ConversationAction[], each: Recording) {
  return shown(play([...actions, stored(each)]));
}

describe.each(RECORDINGS)("$name", (each) => {
  test("live, its parts are those of the history", () => {
    expect(partsOf(play(asSeen(each)))).toEqual(partsOf(play([stored(each)])));
  });

  test("reading the history after the end changes nothing", () => {
    expect(settled(asSeen(each), each)).toEqual(whole(each));
    expect(shown(play([stored(each), stored(each)]))).toEqual(whole(each));
  });

  test("loaded at any event, the page ends up as if it had seen all", () => {
    for (let seq = 0; seq <= each.history.last_seq; seq += 1) {
      for (const isAsked of [false, true]) {
        const loaded: ConversationAction = {
          type: "history",
          history: historyAt(each, seq, isAsked),
        };
        expect(settled([loaded, after(seq, each.live)], each)).toEqual(whole(each));
      }
    }
  });

  test("decided here, a request needs no second reading", () => {
    const actions = asSeen(each).flatMap((action): ConversationAction[] => {
      if (action.type !== "event" || action.event.event_type !== "hitl_request") return [action];
      const { request_id: requestId } = action.event.data;
      const decision = play([stored(each)])
        .turns.flatMap((turn) => turn.parts)
        .find((part) => part.kind === "approval" && part.requestId === requestId);
      if (decision?.kind !== "approval" || decision.decision === null) return [action];
      return [action, { type: "deciding", requestId, decision: decision.decision }];
    });
    expect(shown(play(actions)).turns).toEqual(whole(each).turns);
  });
});

/** All parts, without what a request's decision was: that is not in the events. */
function partsOf(state: ConversationState): unknown[][] {
  return state.turns.map((turn) =>
    turn.parts.map((part) =>
      part.kind === "approval" ? { ...part, state: null, decision: null } : part,
    ),
  );
}

describe("in any order of arrival", () => {
  test("events that come again change nothing", () => {
    fc.assert(
      fc.property(name, positions, (recorded, again) => {
        const each = recordingOf(recorded);
        const actions = asSeen(each);
        for (const at of again) {
          const place = at % (actions.length + 1);
          const known = actions
            .slice(0, place)
            .flatMap((action) => (action.type === "event" ? [action.event] : []));
          actions.splice(place, 0, { type: "events", events: known });
        }
        expect(settled(actions, each)).toEqual(whole(each));
      }),
      RUNS,
    );
  });

  test("batches of any size make the same page", () => {
    fc.assert(
      fc.property(name, positions, (recorded, cuts) => {
        const each = recordingOf(recorded);
        const bounds = [...new Set(cuts.map((cut) => cut % (each.live.length + 1)))].sort(
          (one, other) => one - other,
        );
        const ends = [...bounds, each.live.length];
        const batches = ends.map((end, at): ConversationAction => {
          const events = each.live.slice(at === 0 ? 0 : ends[at - 1], end);
          return { type: "events", events };
        });
        const single = each.live.map((event): ConversationAction => ({ type: "event", event }));
        expect(play(batches)).toEqual(play(single));
      }),
      RUNS,
    );
  });

  test("the acknowledgement may come before or after any event of its run", () => {
    fc.assert(
      fc.property(name, fc.nat(), (recorded, late) => {
        const each = recordingOf(recorded);
        const actions = asSeen(each);
        const from = actions.findIndex((action) => action.type === "accepted");
        const [accepted] = actions.splice(from, 1);
        const isOwn = (action: ConversationAction) =>
          action.type === "event" &&
          accepted?.type === "accepted" &&
          action.event.run_id === accepted.runId;
        const own = actions.filter(isOwn).length;
        if (accepted) actions.splice(from + (late % (own + 1)), 0, accepted);
        expect(shown(play(actions))).toEqual(shown(play(asSeen(each))));
      }),
      RUNS,
    );
  });

  test("a stale history read in the middle takes nothing away", () => {
    fc.assert(
      fc.property(name, fc.nat(), fc.nat(), (recorded, when, stale) => {
        const each = recordingOf(recorded);
        const seen = when % (each.history.last_seq + 1);
        const history = historyAt(each, stale % (seen + 1));
        const page = play(asSeen(each).filter((action) => isUpTo(seen, action, each)));
        const then = play([{ type: "history", history }], page);
        expect(then.lastSeq).toBe(page.lastSeq);
        expect(partsOf(then)).toEqual(partsOf(page));
        expect(shown(play([after(seen, each.live), stored(each)], then))).toEqual(whole(each));
      }),
      RUNS,
    );
  });

  test("a second tab, which asked nothing, ends up like the first", () => {
    fc.assert(
      fc.property(name, positions, (recorded, readings) => {
        const each = recordingOf(recorded);
        const actions: ConversationAction[] = [];
        for (const event of each.live) {
          actions.push({ type: "event", event });
          const isRead = readings.some(
            (at) => at % each.live.length === event.seq % each.live.length,
          );
          if (isRead) actions.push({ type: "history", history: historyAt(each, event.seq) });
        }
        expect(settled(actions, each)).toEqual(whole(each));
      }),
      RUNS,
    );
  });
});

/** Whether the tab that asked had done or seen it when `seq` was the last event. */
function isUpTo(seq: number, action: ConversationAction, { live, history }: Recording): boolean {
  if (action.type === "event") return action.event.seq <= seq;
  const id = "clientMessageId" in action ? action.clientMessageId : "";
  const asked = history.messages.find((message) => id === `client ${message.message_id}`);
  return live.some((event) => event.run_id === asked?.run_id && event.seq <= seq);
}
