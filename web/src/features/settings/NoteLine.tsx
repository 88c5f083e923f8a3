/** One note of an agent, and its text on demand. */

import { useQuery } from "@tanstack/react-query";
import { Eye, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/components/ui/Button";
import { Dialog } from "@/components/ui/Dialog";
import { ErrorState, LoadingState } from "@/components/ui/States";
import { formatBytes, formatDateTime } from "@/lib/format";

import type { MemoryNote } from "./Memory";
import { noteQuery } from "./queries";

interface NoteLineProps {
  userId: string;
  note: MemoryNote;
  onErase: () => void;
}

export function NoteLine({ userId, note, onErase }: NoteLineProps) {
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
