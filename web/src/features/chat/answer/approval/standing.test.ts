// @vitest-environment happy-dom
import { afterEach, describe, expect, it } from "vitest";

import { addStanding, onStanding, removeStanding, standingKinds } from "./standing";

afterEach(() => localStorage.clear());

describe("standing approvals", () => {
  it("are kept per conversation until they are taken back", () => {
    addStanding("one", "shell");
    addStanding("one", "shell");
    expect(standingKinds("one")).toEqual(["shell"]);
    expect(standingKinds("two")).toEqual([]);
    removeStanding("one", "shell");
    expect(standingKinds("one")).toEqual([]);
    expect(localStorage.length).toBe(0);
  });

  it("tell who listens, and are the same list until they change", () => {
    let count = 0;
    const stop = onStanding(() => (count += 1));
    addStanding("one", "shell");
    expect(standingKinds("one")).toBe(standingKinds("one"));
    stop();
    removeStanding("one", "shell");
    expect(count).toBe(1);
  });

  it("approve nothing when what is stored is not readable", () => {
    localStorage.setItem("dataagent.always.one", '{"shell": true}');
    expect(standingKinds("one")).toEqual([]);
    localStorage.setItem("dataagent.always.one", '[1, null, "shell"]');
    expect(standingKinds("one")).toEqual(["shell"]);
  });
});
