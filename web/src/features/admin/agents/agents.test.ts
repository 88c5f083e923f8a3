import { describe, expect, it } from "vitest";

import {
  agentFormOf,
  agentProblemsOf,
  createAgentBody,
  emptyAgentForm,
  updateAgentBody,
  type Agent,
} from "./agentForm";
import { groupsOf, searched } from "./toolPicker";

const AGENT: Agent = {
  id: "agent_1",
  name: "controller",
  description: "Checks the books.",
  system_prompt: null,
  model: null,
  icon: "bot",
  show_in_selector: true,
  kind: "custom",
  status: "IDLE",
  toolIds: [11, 14],
};

describe("an agent", () => {
  it("is created with numbers of tools, and null for what is the installation's", () => {
    const form = { ...emptyAgentForm(), name: "controller", tools: new Set(["14", "9"]) };
    expect(createAgentBody(form)).toEqual({
      name: "controller",
      description: "",
      system_prompt: null,
      model: null,
      icon: "bot",
      show_in_selector: true,
      toolIds: [9, 14],
    });
  });

  it("that is saved untouched changes nothing", () => {
    expect(updateAgentBody(agentFormOf(AGENT), AGENT)).toEqual({});
  });

  it("sends all its tools when one changes, and [] when none is left", () => {
    const form = agentFormOf(AGENT);
    expect(updateAgentBody({ ...form, tools: new Set(["14", "11", "2"]) }, AGENT)).toEqual({
      toolIds: [2, 11, 14],
    });
    expect(updateAgentBody({ ...form, tools: new Set() }, AGENT)).toEqual({ toolIds: [] });
  });

  it("loses its own prompt by emptying it", () => {
    const known = { ...AGENT, system_prompt: "Be brief." };
    const form = { ...agentFormOf(known), prompt: "  ", isShown: false };
    expect(updateAgentBody(form, known)).toEqual({ system_prompt: null, show_in_selector: false });
  });

  it.each([
    ["", { name: "needed" }],
    ["Controller", { name: "badName" }],
    ["-x", { name: "badName" }],
    ["a".repeat(65), { name: "badName" }],
    ["cash_flow-2", {}],
  ])("called %j is taken or refused", (name, problems) => {
    expect(agentProblemsOf({ ...emptyAgentForm(), name })).toEqual(problems);
  });
});

describe("tools to choose from", () => {
  const choices = [
    { key: "1", name: "sql_db_query", description: "Runs SQL.", serverId: null },
    { key: "41", name: "get_order", description: "An order.", serverId: "s2" },
    { key: "42", name: "search", description: "Finds products.", serverId: "s1" },
    { key: "43", name: "cancel", description: "Cancels an order.", serverId: "s2" },
  ];
  const groups = groupsOf(choices, new Map([["s1", "catalogue"]]));

  it("are grouped: built in first, then by the name of the server, or its id", () => {
    expect(groups.map((group) => [group.server, group.tools.map((tool) => tool.key)])).toEqual([
      [null, ["1"]],
      ["catalogue", ["42"]],
      ["s2", ["41", "43"]],
    ]);
  });

  it("are found by every word in name, description or server", () => {
    const keys = (wanted: string) =>
      searched(groups, wanted).flatMap((group) => group.tools.map((tool) => tool.key));
    expect(keys("ORDER s2")).toEqual(["41", "43"]);
    expect(keys("catalogue")).toEqual(["42"]);
    expect(keys("order sql")).toEqual([]);
    expect(keys(" ")).toHaveLength(4);
  });
});
