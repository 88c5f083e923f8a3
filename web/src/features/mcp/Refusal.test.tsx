// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, it } from "vitest";

import { ApiError } from "@/api/client";
import { setLanguage, startI18n } from "@/i18n";

import { Refusal } from "./Refusal";

const OFF = "MCP is switched off for this organisation.";
const PROGRAM = "This program may not be started as an MCP server here.";

beforeAll(startI18n);
afterEach(cleanup);

it.each([
  ["en", new ApiError(429, "too_many_mcp_servers", "…", { limit: 5, used: 5 }), "You have 5 of 5."],
  ["en", new ApiError(429, "too_many_mcp_servers", "Remove one first."), "Remove one first."],
  ["en", new ApiError(403, "mcp_server_not_allowed", OFF), "switched off for your organisation"],
  ["en", new ApiError(403, "mcp_server_not_allowed", PROGRAM), PROGRAM],
  ["zh", new ApiError(403, "mcp_server_not_allowed", PROGRAM), "请管理员为您登记该服务器"],
  ["en", new ApiError(409, "conflict", "Choose another name."), "Choose another name."],
  ["en", new ApiError(0, "unreachable", "x"), "The server cannot be reached."],
] as const)("in %s, %s is told with what to do", async (language, error, text) => {
  await setLanguage(language);
  render(<Refusal error={error} />);
  expect(screen.getByRole(roleOf(error)).textContent).toContain(text);
});

/** What a limit or a rule forbids is no failure: it is not shouted. */
function roleOf(error: ApiError): "alert" | "status" {
  return error.code === "conflict" || error.status === 0 ? "alert" : "status";
}
