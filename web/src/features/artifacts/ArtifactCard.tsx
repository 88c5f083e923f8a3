/** A table, chart or file that an answer made. */

import type { ArtifactPart } from "@/events/state";

import { ChartCard } from "./chart/ChartCard";
import { FileCard } from "./FileCard";
import { readFilePreview, readParentId, readTablePreview } from "./previews";
import { TableCard } from "./table/TableCard";

export function ArtifactCard({ part }: { part: ArtifactPart }) {
  const { artifactId, title, preview } = part;
  switch (part.artifactKind) {
    case "table":
      return (
        <TableCard artifactId={artifactId} title={title} preview={readTablePreview(preview)} />
      );
    case "chart":
      return <ChartCard artifactId={artifactId} title={title} parentId={readParentId(preview)} />;
    case "file":
      return <FileCard title={title} url={part.url} preview={readFilePreview(preview)} />;
  }
}
