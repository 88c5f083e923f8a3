import { describe, expect, it } from "vitest";

import { diffLines } from "./DiffView";

describe("diffLines", () => {
  it("tells added from removed lines and leaves out the files' names", () => {
    const diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n--- not a name\n+new";
    expect(diffLines(diff).map(({ kind }) => kind)).toEqual([
      "place",
      "same",
      "removed",
      "removed",
      "added",
    ]);
  });

  it("shows a note in place of a diff that was left out", () => {
    expect(diffLines("[diff left out: the file is too large]")).toEqual([
      { kind: "note", text: "[diff left out: the file is too large]" },
    ]);
  });
});
