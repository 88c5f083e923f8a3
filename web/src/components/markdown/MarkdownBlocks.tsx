/** A text block by block: a growing text is parsed again only where it grows. */

import { useDeferredValue, useMemo } from "react";

import type { MarkedFigure } from "@/features/artifacts/FigureMark";

import type { MarkdownProps } from "../Markdown";
import { splitBlocks } from "./blocks";
import { MarkdownBlock } from "./MarkdownBlock";
import { placed, within, type PlacedFigure } from "./placing";
import { settle } from "./settle";

interface Block {
  start: number;
  text: string;
  figures: readonly PlacedFigure[];
}

const NO_FIGURES: readonly PlacedFigure[] = [];

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
