/** The card of an artifact by its kind: a chart, a table, or a file. */

import { Download, File } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { linkTarget } from "@/components/markdown/links";
import { toast } from "@/components/ui/toast";
import type { ArtifactPart } from "@/events/state";
import { useErrorText } from "@/lib/errorText";
import { formatBytes } from "@/lib/format";

import { ChartCard } from "./chart/ChartCard";
import { download } from "./download";
import { readFilePreview, readParentId, readTablePreview, type FilePreview } from "./previews";
import { isGone } from "./queries";
import { TableCard } from "./table/TableCard";

/** A table, chart or file that an answer made. */
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

interface FileCardProps {
  title: string;
  url: string;
  preview: FilePreview;
}

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** A file that an answer made: what it is, a link to save it, and pictures at once. */
export function FileCard({ title, url, preview }: FileCardProps) {
  const { t } = useTranslation("results");
  const [hasFailed, setHasFailed] = useState(false);
  const errorText = useErrorText();
  const target = linkTarget(url);
  const ownUrl = target?.kind === "download" ? target.href : null; // another site's is never asked for
  const save = (from: string) => {
    download(from).catch((error: unknown) =>
      toast(isGone(error) ? t("fileGone") : errorText(error), { tone: "danger" }),
    );
  };
  const isPicture = PICTURES.has(preview.contentType) && !hasFailed;
  return (
    <section
      aria-label={t("cards.file", { title })}
      className="w-fit max-w-full overflow-hidden rounded-xl border border-line bg-raised"
    >
      {ownUrl !== null && isPicture && (
        <img
          src={ownUrl}
          alt={title}
          loading="lazy"
          onError={() => setHasFailed(true)}
          className="max-h-[28rem] max-w-full object-contain"
        />
      )}
      <div className="flex items-center gap-3 py-2 pr-2 pl-3">
        <File className="size-5 shrink-0 text-muted" aria-hidden />
        <div className="min-w-0 flex-1">
          <p className="text-sm font-medium [overflow-wrap:anywhere]">{title}</p>
          <p className="text-xs text-muted">
            {preview.size !== null && formatBytes(preview.size)}
            {preview.contentType && ` · ${preview.contentType}`}
          </p>
        </div>
        {ownUrl !== null && (
          <a
            href={ownUrl}
            download
            onClick={(event) => {
              event.preventDefault();
              save(ownUrl);
            }}
            className="inline-flex h-8 items-center gap-1.5 rounded-md px-2.5 text-sm font-medium hover:bg-sunken"
          >
            <Download className="size-3.5" aria-hidden />
            {t("save")}
            <span className="sr-only"> {title}</span>
          </a>
        )}
      </div>
    </section>
  );
}
