/** One block of Markdown. It is parsed again only when its text or its figures change. */

import { memo, useId, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

import {
  CodeElement,
  FigureElement,
  heading,
  ImageElement,
  LinkElement,
  TableElement,
  TaskElement,
} from "./elements";
import { BlockFigures } from "./figuresContext";
import { linkTarget } from "./links";
import "./markdown.css";
import { remarkFigures, type PlacedFigure } from "./placing";

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
