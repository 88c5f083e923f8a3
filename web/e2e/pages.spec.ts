/** Every page: reachable by everyone (axe, light and dark), at phone width, in both languages. */

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

import { Chat } from "./kit/chat";
import { expect, test } from "./kit/fixtures";
import { openRich, PAGES, settle } from "./kit/pages";

test.describe.configure({ mode: "parallel" });

async function violations(page: Page): Promise<string[]> {
  const { violations: found } = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"])
    .analyze();
  return found.flatMap((each) =>
    each.nodes.map((node) => `${each.id}: ${node.target.join(" ")}: ${node.failureSummary ?? ""}`),
  );
}

/** What sticks out to the right of the page. */
async function overflow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const wide = [...document.querySelectorAll("body *")].filter(
      (element) => element.getBoundingClientRect().right > clientWidth + 1,
    );
    return [`${scrollWidth} > ${clientWidth}`, ...wide.slice(0, 5).map((one) => one.className)];
  });
}

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`${colorScheme}, as an administrator`, () => {
    test.use({ as: "admin", model: "offline", colorScheme });

    test(
      "no page keeps anybody out",
      { tag: colorScheme === "light" ? "@first" : [] },
      async ({ page }) => {
        test.setTimeout(180_000);
        for (const address of PAGES) {
          await page.goto(address);
          await settle(page);
          expect.soft(await violations(page), address).toEqual([]);
        }
      },
    );

    test("nor does a conversation with all there is in it", async ({ page, client }) => {
      await openRich(page, client);
      expect(await violations(page)).toEqual([]);
    });
  });
}

test.describe("the login page", () => {
  test.use({ as: "nobody" });

  test("keeps nobody out, in light and dark", async ({ page }) => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto("/login");
      await expect(page.getByRole("button", { name: "Sign in" })).toBeVisible();
      expect.soft(await violations(page)).toEqual([]);
    }
  });
});

test.describe("at phone width", () => {
  test.use({ as: "admin", model: "offline", viewport: { width: 390, height: 844 } });

  test("no page is wider than the screen", async ({ page, client }) => {
    test.setTimeout(120_000);
    for (const address of PAGES) {
      await page.goto(address);
      await settle(page);
      expect.soft(await overflow(page), address).toEqual([]);
    }
    await openRich(page, client);
    expect(await overflow(page)).toEqual([]);
  });

  test("the menu opens, leads on, and closes", async ({ page }) => {
    await page.goto("/");
    await page.getByRole("button", { name: "Open the menu" }).click();
    await page.getByRole("link", { name: "Data", exact: true }).click();
    await expect(page.getByRole("heading", { name: "Data", level: 1 })).toBeVisible();
    await expect(page.getByRole("link", { name: "MCP servers" })).toBeHidden();
  });

  test("one can ask", async ({ page }) => {
    const chat = new Chat(page);
    await chat.begin("How many tracks are there?");
    await chat.answered();
    await expect(chat.last).toContainText("3581");
  });
});

test.describe("in Chinese", () => {
  test.use({ locale: "zh-CN", as: "admin", model: "offline" });

  test("the browser's language is taken, and can be changed", async ({ page }) => {
    await page.goto("/");
    await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
    const english = "Search conversations";
    await expect(page.getByRole("searchbox", { name: english })).toHaveCount(0);
    await page.getByRole("button", { name: "admin" }).click();
    await page.getByRole("menuitemradio", { name: "English" }).click();
    await expect(page.getByRole("searchbox", { name: english })).toBeVisible();
    await page.reload();
    await expect(page.getByRole("searchbox", { name: english })).toBeVisible();
    await expect(page.locator("html")).toHaveAttribute("lang", "en");
  });

  test("no page has a text that was forgotten", { tag: "@first" }, async ({ page }) => {
    test.setTimeout(120_000);
    for (const address of PAGES) {
      await page.goto(address);
      await settle(page);
      await expect
        .soft(page.locator("h1").first(), address)
        .toHaveText(/[\u4e00-\u9fff]|MCP|chinook/);
      const keys = await page.evaluate(
        () =>
          document.body.innerText.match(/\b[a-z]+[A-Z]?[a-zA-Z]*\.[a-z]+[A-Z][a-zA-Z]*\b/g) ?? [],
      );
      expect.soft(keys, address).toEqual([]);
    }
  });
});

test.describe("keyboard only", () => {
  test("a question is asked and a menu used without a mouse", async ({ page }) => {
    const chat = new Chat(page);
    await chat.open();
    await expect(chat.input).toBeFocused();
    await page.keyboard.type("!echo by keyboard");
    await page.keyboard.press("Enter");
    await chat.answered();
    await page.reload();
    await page.getByRole("link", { name: "Skip to the content" }).focus();
    await expect(page.getByRole("link", { name: "Skip to the content" })).toBeInViewport();
    await page
      .getByRole("button", { name: /^More for/ })
      .first()
      .focus();
    await page.keyboard.press("Enter");
    await expect(page.getByRole("menuitem", { name: "Rename" })).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("menu")).toBeHidden();
  });
});
