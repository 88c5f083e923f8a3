/** One part of an answer, by its kind. */

import { memo } from "react";

import type { Part } from "@/events/state";
import { ArtifactCard } from "@/features/artifacts/ArtifactCard";
import type { MarkedFigure } from "@/features/artifacts/FigureMark";

import { ApprovalCard } from "./approval/ApprovalCard";
import { ErrorView } from "./ErrorView";
import { FileCard } from "./FileCard";
import { TextView } from "./TextView";
import { ThinkingView } from "./ThinkingView";
import { TodosView } from "./TodosView";
import { ToolCard } from "./ToolCard";

interface PartViewProps {
  part: Part;
  figures: readonly MarkedFigure[] | undefined;
  /** It is the last part and the answer goes on. */
  isLive: boolean;
}

export const PartView = memo(function PartView({ part, figures, isLive }: PartViewProps) {
  switch (part.kind) {
    case "text":
      return <TextView part={part} figures={figures} isLive={isLive} />;
    case "thinking":
      return <ThinkingView part={part} isLive={isLive} />;
    case "tool":
      return <ToolCard part={part} />;
    case "todos":
      return <TodosView part={part} />;
    case "file":
      return <FileCard part={part} />;
    case "artifact":
      return <ArtifactCard part={part} />;
    case "approval":
      return <ApprovalCard part={part} />;
    case "error":
      return <ErrorView part={part} />;
  }
});
