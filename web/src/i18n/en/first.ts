import { answer } from "./answer";
import { auth } from "./auth";
import { chat } from "./chat";
import { common } from "./common";
import { results } from "./results";

/** What the chat needs. */
export const first = { common, auth, chat, answer, results };
