import { describe, expect, it } from "vitest";

import type { Source } from "@/features/data/queries";

import { added, EVERYONE, isForEveryone, removed } from "./access";
import { EXAMPLE, policyProblemsOf, rulesOf, textOf, usersOf, withSubject } from "./rules";
import { createOf, NEW_SOURCE, sourceFormOf, updateOf } from "./sourceForm";

const SOURCE: Source = {
  source_id: "s1",
  name: "shop",
  kind: "database",
  description: "Orders",
  dialect: "postgresql",
  is_sample: false,
  is_from_config: false,
  default_policy: "allow",
  time_zone: "UTC",
  limits: { max_rows: 1000, max_bytes: 536_870_912, timeout_seconds: 60 },
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
  is_own: false,
  owner_id: null,
  address: "postgresql://reader:••••@db/shop",
  folder: null,
  files: [],
  has_credentials: true,
  grants: [],
};

describe("a source's form", () => {
  it("changes nothing when nothing was changed", () => {
    expect(updateOf(sourceFormOf(SOURCE), SOURCE)).toEqual({});
  });

  it("never sends the shown address back", () => {
    expect(sourceFormOf(SOURCE).url).toBe("");
    const update = updateOf({ ...sourceFormOf(SOURCE), description: "All orders" }, SOURCE);
    expect(update).toEqual({ description: "All orders" });
  });

  it("sends what was changed", () => {
    const form = {
      ...sourceFormOf(SOURCE),
      url: " sqlite:///x.db ",
      maxRows: "5",
      timeoutSeconds: "2.5",
    };
    expect(updateOf(form, SOURCE)).toEqual({
      url: "sqlite:///x.db",
      limits: { max_rows: 5, max_bytes: 536_870_912, timeout_seconds: 2.5 },
    });
  });

  it("registers a folder without an address, and a database without a folder", () => {
    const typed = { ...NEW_SOURCE, name: "reports", url: "sqlite:///x", folder: "/srv/reports" };
    const folder = createOf({ ...typed, kind: "files" });
    expect(folder.folder).toBe("/srv/reports");
    expect(folder).not.toHaveProperty("url");
    expect(createOf(typed)).not.toHaveProperty("folder");
    expect(folder.limits).toEqual({ max_rows: null, max_bytes: null, timeout_seconds: null });
  });
});

describe("grants", () => {
  it("hold each subject once", () => {
    const ana = { subject_kind: "user", subject_id: "ana" } as const;
    const grants = added(added([EVERYONE], ana), ana);
    expect(grants).toEqual([EVERYONE, ana]);
    expect(isForEveryone(removed(grants, EVERYONE))).toBe(false);
  });
});

describe("rules", () => {
  it("come back from their text as they were", () => {
    expect(rulesOf(textOf(EXAMPLE))).toEqual({ rules: EXAMPLE });
  });

  it("say where a text stops being JSON, and refuse what is no object", () => {
    expect(rulesOf('{"subjects": }')).toHaveProperty("problem");
    expect(rulesOf("[]")).toHaveProperty("problem");
  });

  it("speak to one more user, and no longer to everyone", () => {
    const once = withSubject(EXAMPLE, "users", "u1");
    expect(once["subjects"]).toEqual({ users: ["u1"] });
    const twice = withSubject(withSubject(once, "users", "u2"), "users", "u1");
    expect(usersOf(twice)).toEqual(["u2", "u1"]);
    expect(withSubject(twice, "tenants", "acme")["subjects"]).toEqual({
      users: ["u2", "u1"],
      tenants: ["acme"],
    });
    expect(twice["tables"]).toEqual(EXAMPLE["tables"]);
  });

  it("show each problem the server found", () => {
    expect(policyProblemsOf({ problems: ["a", "b", 3] })).toEqual(["a", "b"]);
    expect(policyProblemsOf(null)).toEqual([]);
  });
});
