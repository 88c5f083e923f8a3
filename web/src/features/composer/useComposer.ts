/** What is in the composer of a conversation: the draft, its files, and sending it. */

import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";

import { infoQuery, skillsQuery } from "@/api/queries";
import type { Attachment, Question } from "@/events/state";

import { EMPTY_DRAFT, questionOf, readDraft, writeDraft, type Draft } from "./drafts";
import { sendFile } from "./sendFile";
import { splitSkill } from "./tokens";
import { UploadQueue, type Upload } from "./uploads";

export interface Composing {
  draft: Draft;
  change: ChangeDraft;
  uploads: readonly Upload[];
  queue: UploadQueue;
  /** How large a file may be, once the server has said. */
  maxBytes: number | undefined;
  attach: (files: Iterable<File>) => void;
  /** Why it cannot be sent now. */
  obstacle: "busy" | "uploading" | "empty" | null;
  send: () => void;
}

/** What a composer holds and does: the draft, its files, and whether it can be sent. */
export function useComposer(
  conversationId: string,
  isBusy: boolean,
  onSend: (question: Question) => void,
): Composing {
  const { draft, change, clear } = useDraft(conversationId);
  const addAttachment = useCallback(
    (added: Attachment) => change(({ attachments }) => ({ attachments: [...attachments, added] })),
    [change],
  );
  const { uploads, queue } = useUploads(addAttachment);
  const maxBytes = useQuery(infoQuery).data?.max_upload_bytes;
  const skills = useQuery({ ...skillsQuery, enabled: draft.text.startsWith("/") }).data?.items;
  const { text, skill } =
    draft.skill === null
      ? splitSkill(draft.text, skills?.map(({ name }) => name) ?? [])
      : { text: draft.text, skill: draft.skill };

  const isUploading = uploads.some((upload) => upload.status !== "failed");
  const obstacle = isBusy
    ? "busy"
    : isUploading
      ? "uploading"
      : text.trim() === ""
        ? "empty"
        : null;

  return {
    draft,
    change,
    uploads,
    queue,
    maxBytes,
    attach: (files) => queue.add(files, maxBytes ?? Number.POSITIVE_INFINITY),
    obstacle,
    send: () => {
      if (obstacle !== null) return;
      clear();
      onSend(questionOf({ ...draft, text, skill }));
    },
  };
}

const WRITE_AFTER_MS = 300;

type ChangeDraft = (change: Partial<Draft> | ((draft: Draft) => Partial<Draft>)) => void;

interface KeptDraft {
  draft: Draft;
  change: ChangeDraft;
  /** It was sent: forget it at once, keep only who answers. */
  clear: () => void;
}

/** The draft of a conversation, written down while someone types and when the page goes away. */
function useDraft(conversationId: string): KeptDraft {
  const [draft, setDraft] = useState(() => readDraft(conversationId));
  const written = useRef(draft);
  const latest = useRef(draft);

  const flush = useCallback(() => {
    if (latest.current === written.current) return;
    written.current = latest.current;
    writeDraft(conversationId, latest.current);
  }, [conversationId]);

  const change: ChangeDraft = useCallback(
    (changed) =>
      setDraft((before) => ({
        ...before,
        ...(typeof changed === "function" ? changed(before) : changed),
      })),
    [],
  );

  const clear = useCallback(() => {
    const cleared = { ...EMPTY_DRAFT, agentId: latest.current.agentId };
    latest.current = cleared;
    flush();
    setDraft(cleared);
  }, [flush]);

  useEffect(() => {
    latest.current = draft;
    const timer = setTimeout(flush, WRITE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [draft, flush]);

  useEffect(() => {
    window.addEventListener("pagehide", flush);
    return () => {
      window.removeEventListener("pagehide", flush);
      flush();
    };
  }, [flush]);

  return { draft, change, clear };
}

interface Uploads {
  uploads: readonly Upload[];
  queue: UploadQueue;
}

/** `onDone` must stay the same function. */
function useUploads(onDone: (attachment: Attachment) => void): Uploads {
  const [queue] = useState(() => new UploadQueue(sendFile, onDone));
  const uploads = useSyncExternalStore(queue.subscribe, queue.snapshot);
  useEffect(() => () => queue.close(), [queue]);
  return { uploads, queue };
}
