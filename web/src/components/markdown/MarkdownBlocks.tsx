/** A Markdown text as blocks, of which only the last is parsed again while it is written. */

import { ImageOff, Square, SquareCheck } from "lucide-react";
import {
  createContext,
  memo,
  use,
  useDeferredValue,
  useId,
  useMemo,
  type ComponentType,
  type ReactNode,
} from "react";
import { useTranslation } from "react-i18next";
import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";

import { FigureMark, type MarkedFigure } from "@/features/artifacts/FigureMark";

import { CodeBlock } from "../CodeBlock";
import type { MarkdownProps } from "../Markdown";
import { splitBlocks } from "./blocks";
import { linkTarget } from "./links";
import "./markdown.css";
import { placed, remarkFigures, within, type PlacedFigure } from "./placing";
import { settle } from "./settle";

interface Block {
  start: number;
  text: string;
  figures: readonly PlacedFigure[];
}

const NO_FIGURES: readonly PlacedFigure[] = [];

/** A text block by block: a growing text is parsed again only where it grows. */
export function MarkdownBlocks({ text, figures, isStreaming = false }: MarkdownProps) {
  const shown = useDeferredValue(text);
  const blocks = useMemo(
    () => blocksOf(shown, figures ?? [], isStreaming),
    [shown, figures, isStreaming],
  );
  return (
    <div className="min-w-0 [overflow-wrap:anywhere]">
      {blocks.map((block) => (
        <MarkdownBlock key={block.start} text={block.text} figures={block.figures} />
      ))}
    </div>
  );
}

function blocksOf(text: string, figures: readonly MarkedFigure[], isStreaming: boolean): Block[] {
  const places = placed(text, figures);
  const parts = splitBlocks(text);
  let start = 0;
  return parts.map((part, at) => {
    const end = start + part.length;
    const inside = within(places, start, end);
    const isOpen = isStreaming && at === parts.length - 1;
    const block = {
      start,
      text: isOpen ? settle(part) : part,
      figures: inside.length > 0 ? inside : NO_FIGURES,
    };
    start = end;
    return block;
  });
}

interface MarkdownBlockProps {
  text: string;
  figures: readonly PlacedFigure[];
}

/** Nothing else is ever rendered, whatever a plugin makes of a text. */
const ELEMENTS =
  "p br strong em del a img ul ol li input blockquote h1 h2 h3 h4 h5 h6 hr table thead tbody tr th td pre code mark sup section".split(
    " ",
  );

/** A page has its own headings; those of a text stand below them. */
const COMPONENTS: Components = {
  a: LinkElement,
  img: ImageElement,
  pre: CodeElement,
  table: TableElement,
  input: TaskElement,
  mark: FigureElement,
  h1: heading("h3"),
  h2: heading("h4"),
  h3: heading("h5"),
  h4: heading("h6"),
  h5: heading("h6"),
  h6: heading("h6"),
};

function safeAddress(address: string, attribute: string): string | undefined {
  return attribute === "href" ? linkTarget(address)?.href : undefined;
}

/** One block of Markdown. It is parsed again only when its text or its figures change. */
export const MarkdownBlock = memo(function MarkdownBlock({ text, figures }: MarkdownBlockProps) {
  const id = useId();
  const notes = useMemo(() => ({ clobberPrefix: `${id}-`, footnoteBackContent: "" }), [id]);
  const withFigures = () => remarkFigures(figures);
  return (
    <BlockFigures value={figures}>
      <div className="markdown">
        <ReactMarkdown
          remarkPlugins={[remarkGfm, withFigures]}
          remarkRehypeOptions={notes}
          allowedElements={ELEMENTS}
          unwrapDisallowed
          urlTransform={safeAddress}
          components={COMPONENTS}
        >
          {text}
        </ReactMarkdown>
      </div>
    </BlockFigures>
  );
}, isSame);

/**
 * Figures of a block are cut out anew with every change of the text, mostly with the same outcome.
 */
function isSame(before: MarkdownBlockProps, after: MarkdownBlockProps): boolean {
  return (
    before.text === after.text &&
    before.figures.length === after.figures.length &&
    before.figures.every((each, at) => {
      const other = after.figures[at];
      return each.start === other?.start && each.marked === other.marked;
    })
  );
}

type ElementNode = NonNullable<ExtraProps["node"]>;

interface ElementProps extends ExtraProps {
  children?: ReactNode;
}

/** A link that says where it leads; one that must not be followed is its text. */
export function LinkElement({ href, children, node }: ElementProps & { href?: string }) {
  const { t } = useTranslation("answer");
  const target = linkTarget(href);
  if (target === null) return <>{children}</>;
  if (target.kind === "download") {
    return (
      <a href={target.href} download>
        {children}
      </a>
    );
  }
  const place = target.kind === "web" ? target.host : target.address;
  const isSaid = node !== undefined && textOf(node).includes(place);
  return (
    <a href={target.href} target="_blank" rel="noopener noreferrer">
      {children}
      {!isSaid && <span className="text-xs text-muted"> ({place})</span>}
      <span className="sr-only"> {t("newTab")}</span>
    </a>
  );
}

function textOf(node: ElementNode | ElementNode["children"][number]): string {
  if ("value" in node) return node.value;
  return "children" in node ? node.children.map(textOf).join("") : "";
}

/** Pictures are not loaded: their address can carry data out. */
export function ImageElement({ alt }: { alt?: string }) {
  const { t } = useTranslation("answer");
  return (
    <span className="inline-flex items-center gap-1 rounded bg-sunken px-1.5 text-sm text-muted">
      <ImageOff className="size-3.5" aria-hidden />
      {alt ? t("image", { alt }) : t("imageWithoutText")}
    </span>
  );
}

export function CodeElement({ node }: ElementProps) {
  const code = node?.children[0];
  const names = code?.type === "element" ? code.properties["className"] : null;
  const language = (Array.isArray(names) ? names : [])
    .map(String)
    .find((name) => name.startsWith("language-"));
  return (
    <CodeBlock
      code={code ? textOf(code).replace(/\n$/, "") : ""}
      language={language?.slice("language-".length) ?? ""}
    />
  );
}

export function TableElement({ children }: ElementProps) {
  const { t } = useTranslation("answer");
  return (
    <div
      role="group"
      tabIndex={0}
      aria-label={t("table")}
      className="my-2 max-w-full overflow-x-auto rounded-lg border border-line"
    >
      <table>{children}</table>
    </div>
  );
}

export function TaskElement({ checked }: { checked?: boolean }) {
  const { t } = useTranslation("answer");
  const Icon = checked === true ? SquareCheck : Square;
  return (
    <Icon
      role="img"
      aria-label={checked === true ? t("todos.completed") : t("todos.pending")}
      className="mr-1.5 inline size-4 align-[-0.15em] text-muted"
    />
  );
}

export function FigureElement({ node, children }: ElementProps) {
  const number = node?.properties["dataFigure"];
  const figure = use(BlockFigures)[Number(number)];
  if (figure === undefined) return <>{children}</>;
  return <FigureMark marked={figure.marked}>{children}</FigureMark>;
}

/** A heading of a text, as another level of the page. */
export function heading(Level: "h3" | "h4" | "h5" | "h6"): ComponentType<ElementProps> {
  return function Heading({ children }: ElementProps) {
    return <Level>{children}</Level>;
  };
}

/** The figures of the block that is being rendered, by number. */
export const BlockFigures = createContext<readonly PlacedFigure[]>([]);
