/** The chat page, as a person uses it. */

import { expect, type Locator, type Page } from "@playwright/test";

export class Chat {
  readonly log: Locator;
  readonly input: Locator;
  readonly stop: Locator;
  /** Questions with their answers, oldest first; those far out of view are not rendered. */
  readonly turns: Locator;

  constructor(readonly page: Page) {
    this.log = page.getByRole("log", { name: "Conversation" });
    this.input = page.getByRole("textbox", { name: "Your question" });
    this.stop = page.getByRole("button", { name: "Stop the answer" });
    this.turns = page.getByRole("article", { name: "Question and answer" });
  }

  get last(): Locator {
    return this.turns.last();
  }

  async open(conversationId?: string): Promise<void> {
    await this.page.goto(conversationId === undefined ? "/" : `/chat/${conversationId}`);
  }

  async ask(message: string): Promise<void> {
    await this.input.fill(message);
    await this.input.press("Enter");
  }

  /** Ask in a new conversation; its id, once the page has its address. */
  async begin(message: string): Promise<string> {
    await this.open();
    await this.ask(message);
    await this.page.waitForURL(/\/chat\/[0-9a-f-]{36}$/);
    return this.page.url().split("/").at(-1) ?? "";
  }

  /** Wait until the last answer stands as it is said to those who do not see it. */
  async stands(status: string): Promise<void> {
    await expect(this.last.getByRole("status").last()).toHaveText(status);
  }

  answered = () => this.stands("Answered.");
}

/** Without what differs from one rendering to the next: durations, ids that React makes. */
export function steady(html: string): string {
  return html
    .replace(/\d+([.,]\d+)? (ms|s|min)\b/g, "TIME")
    .replace(/(id|aria-controls|aria-labelledby|aria-describedby|for)="[^"]*"/g, "")
    .replace(/\s(data-state|data-index|tabindex)="[^"]*"/g, "")
    .replace(/style="[^"]*"/g, "");
}
