/** All sources, a search over their tables and columns, and the way to bring one's own. */

import { useQuery } from "@tanstack/react-query";
import { Upload } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { sourcesQuery } from "@/api/queries";
import { Button } from "@/components/ui/Button";
import { Input } from "@/components/ui/Field";
import { Page } from "@/components/ui/Page";
import { useSettled } from "@/lib/useSettled";

import { SearchResults } from "./SearchResults";
import { SourceList } from "./SourceList";
import { UploadDialog } from "./UploadDialog";

const TYPING_MS = 250;

export function SourcesView() {
  const { t } = useTranslation("data");
  const sources = useQuery(sourcesQuery).data?.items;
  const [isUploading, setIsUploading] = useState(false);
  const [typed, setTyped] = useState("");
  const settled = useSettled(typed.trim(), TYPING_MS);
  const words = typed.trim() === "" ? "" : settled; // all sources are back at once
  return (
    <Page
      title={t("title")}
      text={t("text")}
      actions={
        <Button variant="primary" onClick={() => setIsUploading(true)}>
          <Upload className="size-4" aria-hidden />
          {t("upload")}
        </Button>
      }
    >
      <Input
        type="search"
        aria-label={t("searchAll")}
        placeholder={t("searchAll")}
        maxLength={500}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      {words !== "" && sources ? <SearchResults sources={sources} words={words} /> : <SourceList />}
      <UploadDialog isOpen={isUploading} onClose={() => setIsUploading(false)} />
    </Page>
  );
}
