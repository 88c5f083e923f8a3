/**
 * Text of a model or a user as formatted text: no HTML, no remote images, safe links.
 *
 * The parser is loaded when a text is first shown; until then, and if it cannot be loaded, the text
 * stands as it was written.
 */

import { lazy, Suspense } from "react";

import type { MarkedFigure } from "@/features/artifacts/FigureMark";

export interface MarkdownProps {
  text: string;
  /** Figures with offsets in `text`, in code points. */
  figures?: readonly MarkedFigure[];
  /** The text is still being written. */
  isStreaming?: boolean;
}

const load = () => import("./markdown/MarkdownBlocks");

const Formatted = lazy(() =>
  load().then(
    ({ MarkdownBlocks }) => ({ default: MarkdownBlocks }),
    () => ({ default: PlainText }),
  ),
);

/** Have the parser there before there is a text: once the page stands. */
export function prepareMarkdown(): void {
  load().catch(() => undefined); // then it is tried again with the first text
}

export function Markdown(props: MarkdownProps) {
  return (
    <Suspense fallback={<PlainText {...props} />}>
      <Formatted {...props} />
    </Suspense>
  );
}

function PlainText({ text }: MarkdownProps) {
  return <div className="[overflow-wrap:anywhere] whitespace-pre-wrap">{text}</div>;
}
