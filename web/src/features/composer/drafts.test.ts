// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from "vitest";

import {
  draftOf,
  EMPTY_DRAFT,
  forgetRefused,
  keepRefused,
  newDraftId,
  questionOf,
  readDraft,
  writeDraft,
} from "./drafts";

const DRAFT = {
  text: "Sales?\n第二行",
  attachments: [{ fileId: "f1", filename: "a.csv" }],
  agentId: "sql",
  skill: "report",
};

describe("drafts", () => {
  beforeEach(() => localStorage.clear());

  it("come back as they were written, each conversation its own", () => {
    writeDraft("one", DRAFT);
    writeDraft(newDraftId("ann"), { ...EMPTY_DRAFT, text: "new" });
    expect(readDraft("one")).toEqual(DRAFT);
    expect(readDraft(newDraftId("ann")).text).toBe("new");
    expect(readDraft("two")).toEqual(EMPTY_DRAFT);
    expect(readDraft(newDraftId("bob"))).toEqual(EMPTY_DRAFT);
  });

  it("leave nothing behind when they are empty", () => {
    writeDraft("one", DRAFT);
    writeDraft("one", { ...EMPTY_DRAFT, agentId: "sql" });
    expect(localStorage).toHaveLength(0);
  });

  it("become a question and come back from it", () => {
    const question = questionOf({ ...DRAFT, text: "  Sales?  " });
    expect(question).toEqual({
      messageId: null,
      content: "Sales?",
      attachments: DRAFT.attachments,
      agentId: "sql",
      skill: "report",
    });
    expect(draftOf(question)).toEqual({ ...DRAFT, text: "Sales?" });
  });

  it("hold a refused question until it is asked again", () => {
    const question = questionOf(DRAFT);
    keepRefused("one", question);
    expect(readDraft("one")).toEqual(DRAFT);
    forgetRefused("one", question);
    expect(readDraft("one")).toEqual(EMPTY_DRAFT);
  });

  it("are not lost to a refused question", () => {
    const typed = { ...EMPTY_DRAFT, text: "typed since" };
    writeDraft("one", typed);
    keepRefused("one", questionOf(DRAFT));
    expect(readDraft("one")).toEqual(typed);
    forgetRefused("one", questionOf(DRAFT));
    expect(readDraft("one")).toEqual(typed);
  });

  it.each(["{", "null", "[]", '{"text": 5, "attachments": "x", "skill": {}}'])(
    "are empty when the browser holds something else: %s",
    (kept) => {
      localStorage.setItem("dataagent.draft.one", kept);
      expect(readDraft("one")).toEqual(EMPTY_DRAFT);
    },
  );
});
