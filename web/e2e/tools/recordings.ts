/**
 * Records what real servers say, for the tests of `src/events`: `npm run recordings`.
 *
 * One file a case, with the events as they came live and the history afterwards. Long results of
 * tools are cut, in both alike.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { format } from "prettier";

import type { Client, History } from "../kit/client";
import { test } from "../kit/fixtures";
import type { Decision, RunEvent } from "../../src/events/types";

const FOLDER = join(import.meta.dirname, "../../src/events/recordings");
const LONGEST = 200;

interface Case {
  name: string;
  model: "scripted" | "offline";
  messages: string[];
  /** In order; `null` stops the run instead. */
  decisions?: (Decision | null)[];
  /** Stop the run when so many events are there. */
  stopAfter?: number;
  prepare?: (client: Client) => Promise<unknown>;
}

const WRITE = '!tool write_file {"file_path": "/plan.md", "content": "one\\ntwo\\n"}';
const EDIT =
  '!tool edit_file {"file_path": "/plan.md", "old_string": "two", "new_string": "three"}';
const CASES: Case[] = [
  { name: "text", model: "scripted", messages: ["!slow 6 30", "Hello 😀"] },
  {
    name: "thinking",
    model: "scripted",
    messages: ["!think Let me see what there is.\n!echo Seen.\n!think And more.\n!echo Said."],
  },
  {
    name: "plan",
    model: "scripted",
    messages: [
      '!tool write_todos {"todos": [{"content": "Look", "status": "in_progress"}, {"content": "Say", "status": "pending"}]}\n' +
        "!echo Looking.\n" +
        '!tool write_todos {"todos": [{"content": "Look", "status": "completed"}, {"content": "Say", "status": "in_progress"}]}\n' +
        "!echo Said.",
    ],
  },
  {
    name: "tools",
    model: "scripted",
    messages: [
      "!echo One moment.\n" +
        '!tools [{"name": "ls", "args": {"path": "/"}}, {"name": "sql_db_list_tables", "args": {}}]\n' +
        '!tool sql_db_query {"query": "SELECT nothing FROM nowhere"}\n' +
        '!tool no_such_tool {"a": 1}\n' +
        "!echo That was all.",
    ],
  },
  {
    name: "subagent",
    model: "scripted",
    messages: [
      "!echo I ask somebody.\n" +
        '!tool task {"description": "!think Hm.\\n!echo Below.\\n!tool ls {\\"path\\": \\"/\\"}\\n!echo Still below.", "subagent_type": "general-purpose"}\n' +
        "!echo Back again.",
    ],
  },
  { name: "approved", model: "scripted", messages: [WRITE], decisions: [{ type: "approve" }] },
  {
    name: "edited",
    model: "scripted",
    messages: [`${WRITE}\n!echo Written.`],
    decisions: [
      {
        type: "edit",
        edited_action: {
          name: "write_file",
          args: { file_path: "/other.md", content: "changed\n" },
        },
      },
    ],
  },
  {
    name: "rejected",
    model: "scripted",
    messages: [WRITE],
    decisions: [{ type: "reject", message: "Not now" }],
  },
  {
    name: "several_approvals",
    model: "scripted",
    messages: [
      '!tools [{"name": "write_file", "args": {"file_path": "/a.md", "content": "a"}}, {"name": "write_file", "args": {"file_path": "/b.md", "content": "b"}}]\n!echo Both.',
    ],
    decisions: [{ type: "approve" }, { type: "approve" }],
  },
  {
    name: "file_operations",
    model: "scripted",
    messages: [`${WRITE}\n${EDIT}\n!tool read_file {"file_path": "/plan.md"}\n!echo All three.`],
    decisions: [{ type: "approve" }, { type: "approve" }],
  },
  { name: "stopped", model: "scripted", messages: ["!slow 400 30"], stopAfter: 5 },
  { name: "stopped_approval", model: "scripted", messages: [WRITE], decisions: [null] },
  { name: "failed", model: "scripted", messages: ["!echo So far.\n!fail", "!fail recoverable"] },
  {
    name: "table",
    model: "offline",
    messages: ["Which five countries have the most customers?", "How many tracks are there?"],
  },
  { name: "chart", model: "offline", messages: ["Show total sales by year as a bar chart"] },
  {
    name: "figures",
    model: "scripted",
    messages: [
      // In a fence: figures of a question are not checked, those of code in it are not its figures.
      "```\n!echo 😀 One moment.\n" +
        '!tool sql_db_query {"query": "SELECT BillingCountry AS country, SUM(Total) AS total FROM Invoice GROUP BY 1 ORDER BY 2 DESC", "title": "Sales by country"}\n' +
        "!echo 😀 The USA has 1,018.80, nobody has 77,777.77.\n!think Hm.\n!echo  France has 471.25.\n```",
    ],
  },
  {
    name: "figures_of_upload",
    model: "offline",
    messages: ["Total amount by mood"],
    prepare: (client) =>
      client.upload("moods", "mood,amount\n😀 happy,1234.5\n😀 happy,10\n😢 sad,77.25\n"),
  },
];

for (const each of CASES) {
  test.describe(() => {
    test.use({ model: each.model, as: "new" });
    test(each.name, async ({ client }) => {
      await each.prepare?.(client);
      const recording = await record(client, each);
      await mkdir(FOLDER, { recursive: true });
      const json = await format(JSON.stringify(recording), { parser: "json", printWidth: 100 });
      await writeFile(join(FOLDER, `${each.name}.json`), json);
    });
  });
}

interface Recording {
  live: RunEvent[];
  history: History;
}

async function record(client: Client, { messages, decisions = [], stopAfter }: Case) {
  const { id } = await client.post<{ id: string }>("/api/conversations");
  const left = [...decisions];
  const live: RunEvent[] = [];
  for (const message of messages) {
    const answer = client.ask(message, { session_id: id });
    let seen = 0;
    for await (const event of client.events(id, live.at(-1)?.seq ?? 0)) {
      live.push(event);
      seen += 1;
      if (event.event_type === "done") break;
      if (event.event_type === "hitl_request") await decide(client, event, left.shift() ?? null);
      if (seen === stopAfter) await client.post(`/api/v1/runs/${event.run_id}/cancel`);
    }
    await answer;
  }
  return short({ live, history: await client.history(id) });
}

async function decide(client: Client, event: RunEvent, decision: Decision | null): Promise<void> {
  if (event.event_type !== "hitl_request") return;
  const run = `/api/v1/runs/${event.run_id}`;
  if (decision === null) await client.post(`${run}/cancel`);
  else await client.send("POST", `${run}/decisions/${event.data.request_id}`, decision);
}

function short(recording: Recording): Recording {
  const { live, history } = recording;
  const messages = history.messages.map((message) => ({
    ...message,
    events: (message.events as unknown as RunEvent[]).map(cut),
  }));
  return { live: live.map(cut), history: { ...history, messages } };
}

function cut(event: RunEvent): RunEvent {
  switch (event.event_type) {
    case "tool_result": {
      const { result } = event.data;
      const isLong = typeof result === "string" && result.length > LONGEST;
      return isLong
        ? { ...event, data: { ...event.data, result: `${result.slice(0, LONGEST)}…` } }
        : event;
    }
    case "artifact": {
      const rows = event.data.preview?.["rows"];
      if (!Array.isArray(rows)) return event;
      const preview = { ...event.data.preview, rows: rows.slice(0, 3) };
      return { ...event, data: { ...event.data, preview } };
    }
    case "hitl_request": {
      const { name, args, description } = event.data.action;
      return { ...event, data: { ...event.data, action: { name, args, description } } };
    }
    default:
      return event;
  }
}
