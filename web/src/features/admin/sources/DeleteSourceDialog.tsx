/** Forget a data source with its grants and policies; results that were made of it stay. */

import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";

import { useChange } from "../parts/change";
import { TypeToConfirm } from "../parts/TypeToConfirm";
import { sourcesQuery, type Source } from "./queries";

interface DeleteSourceDialogProps {
  source: Source;
  onClose: () => void;
  onDone: () => void;
}

export function DeleteSourceDialog({ source, onClose, onDone }: DeleteSourceDialogProps) {
  const { t } = useTranslation("admin");
  const remove = useChange(
    () => {
      const params = { path: { source_id: source.source_id } };
      return call(api.DELETE("/api/v1/data-sources/{source_id}", { params }));
    },
    {
      keys: [sourcesQuery.queryKey, ["sources"]], // not its own: it has none any more
      done: t("sources.delete.done", { name: source.name }),
      onDone,
    },
  );
  return (
    <TypeToConfirm
      title={t("sources.delete.title", { name: source.name })}
      text={t("sources.delete.text")}
      name={source.name}
      confirm={t("sources.delete.open")}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate(undefined)}
      onClose={onClose}
    />
  );
}
