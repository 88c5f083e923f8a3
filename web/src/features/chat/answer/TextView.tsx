/** A piece of the answer's text. */

import { memo } from "react";

import { Markdown } from "@/components/Markdown";
import type { TextPart } from "@/events/state";
import type { MarkedFigure } from "@/features/artifacts/FigureMark";

interface TextViewProps {
  part: TextPart;
  figures: readonly MarkedFigure[] | undefined;
  isLive: boolean;
}

export const TextView = memo(function TextView({ part, figures, isLive }: TextViewProps) {
  return (
    <Markdown
      text={part.content}
      isStreaming={isLive}
      {...(figures !== undefined && { figures })}
    />
  );
});
