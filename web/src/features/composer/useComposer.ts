/** What a composer holds and does: the draft, its files, and whether it can be sent. */

import { useQuery } from "@tanstack/react-query";
import { useCallback } from "react";

import { infoQuery, skillsQuery } from "@/api/queries";
import type { Attachment, Question } from "@/events/state";

import { questionOf, type Draft } from "./drafts";
import { splitSkill } from "./tokens";
import type { Upload, UploadQueue } from "./uploads";
import { useDraft, type ChangeDraft } from "./useDraft";
import { useUploads } from "./useUploads";

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
