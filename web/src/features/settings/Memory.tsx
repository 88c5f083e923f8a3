/** What agents remember of the user, to read and to erase. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { Eye, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { api, call, type Schemas } from "@/api/client";
import { queryClient } from "@/api/queries";
import { Button, IconButton } from "@/components/ui/Button";
import { ConfirmDialog, Dialog } from "@/components/ui/Dialog";
import { Card } from "@/components/ui/Page";
import { ErrorState, LoadingState } from "@/components/ui/States";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";
import { formatBytes, formatDateTime } from "@/lib/format";

import { memoryQuery, noteQuery } from "./queries";

type MemoryNote = Schemas["MemoryInfo"];

/** What agents have noted about the user: to read and to delete. */
export function Memory({ userId }: { userId: string }) {
  const { t } = useTranslation("settings");
  const errorText = useErrorText();
  const memory = useQuery(memoryQuery(userId));
  const [doomed, setDoomed] = useState<MemoryNote | "all" | null>(null);
  const erasing = useMutation({
    mutationFn: (note: MemoryNote | "all") => erase(userId, note),
    onSuccess: () => toast(t("memory.erased")),
    onError: (error) => toast(errorText(error), { tone: "danger" }),
    onSettled: async () => {
      setDoomed(null);
      await queryClient.invalidateQueries({ queryKey: memoryQuery(userId).queryKey });
    },
  });
  const notes = memory.data?.items ?? [];
  const isAll = doomed === "all";
  const name = doomed === null || isAll ? "" : doomed.path;
  return (
    <Card
      title={t("memory.title")}
      actions={
        notes.length > 0 && (
          <Button size="small" variant="danger" onClick={() => setDoomed("all")}>
            {t("memory.eraseAll")}
          </Button>
        )
      }
    >
      <p className="text-sm text-muted">{t("memory.text")}</p>
      {memory.isPending && <LoadingState lines={2} />}
      {memory.isError && <ErrorState error={memory.error} onRetry={() => void memory.refetch()} />}
      {memory.isSuccess && notes.length === 0 && (
        <p className="mt-3 text-sm">{t("memory.empty")}</p>
      )}
      <ul className="mt-2 divide-y divide-line">
        {notes.map((note) => (
          <NoteLine
            key={`${note.assistant_id}/${note.path}`}
            userId={userId}
            note={note}
            onErase={() => setDoomed(note)}
          />
        ))}
      </ul>
      <ConfirmDialog
        isOpen={doomed !== null}
        title={isAll ? t("memory.eraseAllTitle") : t("memory.eraseTitle")}
        text={isAll ? t("memory.eraseAllText") : t("memory.eraseText", { name })}
        confirm={isAll ? t("memory.eraseAll") : t("memory.erase", { name })}
        isBusy={erasing.isPending}
        onConfirm={() => doomed && erasing.mutate(doomed)}
        onClose={() => setDoomed(null)}
      />
    </Card>
  );
}

async function erase(userId: string, note: MemoryNote | "all"): Promise<void> {
  if (note === "all") {
    const params = { path: { user_id: userId } };
    await call(api.DELETE("/api/v1/users/{user_id}/memory", { params }));
    return;
  }
  const { assistant_id, path } = note;
  const params = { path: { user_id: userId, assistant_id, path } };
  await call(api.DELETE("/api/v1/users/{user_id}/memory/{assistant_id}/{path}", { params }));
}

interface NoteLineProps {
  userId: string;
  note: MemoryNote;
  onErase: () => void;
}

/** One note of an agent, and its text on demand. */
function NoteLine({ userId, note, onErase }: NoteLineProps) {
  const { t } = useTranslation("settings");
  const [isOpen, setIsOpen] = useState(false);
  const name = note.path;
  return (
    <li className="flex items-center gap-2 py-2 text-sm">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{name}</p>
        <p className="text-xs text-muted">
          {note.assistant_id} · {formatBytes(note.bytes)} · {formatDateTime(note.updated_at)}
        </p>
      </div>
      <IconButton
        icon={Eye}
        isSmall
        label={t("memory.read", { name })}
        onClick={() => setIsOpen(true)}
      />
      <IconButton icon={Trash2} isSmall label={t("memory.erase", { name })} onClick={onErase} />
      <Dialog isOpen={isOpen} onClose={() => setIsOpen(false)} title={name}>
        <NoteText userId={userId} note={note} />
      </Dialog>
    </li>
  );
}

function NoteText({ userId, note }: { userId: string; note: MemoryNote }) {
  const text = useQuery(noteQuery(userId, note.assistant_id, note.path));
  if (text.isPending) return <LoadingState />;
  if (text.isError) return <ErrorState error={text.error} onRetry={() => void text.refetch()} />;
  return (
    <pre className="pb-4 font-sans text-sm whitespace-pre-wrap [overflow-wrap:anywhere]">
      {text.data.content}
    </pre>
  );
}
