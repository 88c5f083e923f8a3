/** Files chosen, looked at, sent, and what came of it. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { sendSource, type NewSource } from "./sendSource";

export function useSourceUpload() {
  const client = useQueryClient();
  const [progress, setProgress] = useState(0);
  const aborting = useRef<AbortController>(null);
  const upload = useMutation({
    mutationFn: (source: NewSource) => {
      setProgress(0);
      aborting.current = new AbortController();
      return sendSource(source, setProgress, aborting.current.signal);
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["sources"] }),
  });
  return {
    send: upload.mutate,
    made: upload.data ?? null,
    error: upload.error,
    isSending: upload.isPending,
    progress,
    /** Break off what is on its way and begin anew. */
    reset: () => {
      aborting.current?.abort();
      upload.reset();
    },
  };
}
