/** The server's REST API, typed by its OpenAPI document (`schema.d.ts`, generated). */

import createClient from "openapi-fetch";

import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** A refusal of the server, in its own words. `status` 0: it could not be reached. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: unknown = null,
  ) {
    super(message);
  }
}

type Listener = () => void;
const signedOutListeners = new Set<Listener>();

/** Be told when the server no longer knows who this is. */
export function onSignedOut(listener: Listener): () => void {
  signedOutListeners.add(listener);
  return () => signedOutListeners.delete(listener);
}

/** Tell that the login has ended, for example when a socket was closed for it. */
export function tellSignedOut(): void {
  for (const listener of signedOutListeners) listener();
}

/** Dispatched on `window` when the user has signed in again: sockets connect anew. */
export const SIGNED_IN_EVENT = "dataagent:signed-in";

export const api = createClient<paths>({ credentials: "same-origin" });

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** The data of an answer; throws `ApiError` otherwise. */
export async function call<Data>(request: Promise<Answer<Data>>): Promise<Data> {
  let answer: Answer<Data>;
  try {
    answer = await request;
  } catch {
    throw unreachable();
  }
  if (answer.response.ok) return answer.data as Data; // 204 has none, and its type says so
  throw refusalOf(answer.response, answer.error);
}

/** There was no answer at all. */
export function unreachable(): ApiError {
  return new ApiError(0, "unreachable", "The server cannot be reached.");
}

/** What `fetch` and `XMLHttpRequest` both say of an answer; `url` only the first. */
interface Refused {
  status: number;
  statusText: string;
  url?: string;
}

/**
 * A refusal and the body that came with it, whoever asked. Tells that the login has ended if that
 * is why.
 */
export function refusalOf({ status, statusText, url }: Refused, body: unknown): ApiError {
  if (status === 401 && url?.endsWith("/api/auth/login") !== true) tellSignedOut();
  const { error_code: code, message, details } = (body ?? {}) as Partial<Schemas["ErrorResponse"]>;
  return new ApiError(status, code ?? "error", message ?? `${status} ${statusText}`, details);
}
