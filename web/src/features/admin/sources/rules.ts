/** The rules of a policy as the text of an editor. */

type Rules = Record<string, unknown>;

export const EXAMPLE: Rules = {
  subjects: "everyone",
  tables: {
    orders: { row_filter: "region = :user.region" },
    customers: { masks: { email: "partial" }, deny_columns: ["birthday"] },
    salaries: { grant: false },
  },
};

export const NEW_RULES: Rules = { subjects: "everyone", tables: {} };

export function textOf(rules: Rules): string {
  return JSON.stringify(rules, null, 2);
}

/** The rules of a text, or where it stops being JSON. */
export function rulesOf(text: string): { rules: Rules } | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  return isRecord(value) ? { rules: value } : { problem: "{ … }" };
}

type SubjectKind = "users" | "tenants" | "roles";

/** Rules that speak to one more subject. What spoke to everyone speaks to that one alone. */
export function withSubject(rules: Rules, kind: SubjectKind, id: string): Rules {
  const before = isRecord(rules["subjects"]) ? rules["subjects"] : {};
  const named = listOf(before[kind]).filter((each) => each !== id);
  return { ...rules, subjects: { ...before, [kind]: [...named, id] } };
}

/** Ids of users the rules speak to. */
export function usersOf(rules: Rules): string[] {
  const subjects = rules["subjects"];
  return isRecord(subjects) ? textsOf(subjects["users"]) : [];
}

/** The sentences of the server about what does not fit, one for each problem. */
export function policyProblemsOf(details: unknown): string[] {
  return isRecord(details) ? textsOf(details["problems"]) : [];
}

function textsOf(value: unknown): string[] {
  return listOf(value).filter((each) => typeof each === "string");
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
