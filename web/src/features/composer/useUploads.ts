/** The files of one composer that are on their way. */

import { useEffect, useState, useSyncExternalStore } from "react";

import type { Attachment } from "@/events/state";

import { sendFile } from "./sendFile";
import { UploadQueue, type Upload } from "./uploads";

interface Uploads {
  uploads: readonly Upload[];
  queue: UploadQueue;
}

/** `onDone` must stay the same function. */
export function useUploads(onDone: (attachment: Attachment) => void): Uploads {
  const [queue] = useState(() => new UploadQueue(sendFile, onDone));
  const uploads = useSyncExternalStore(queue.subscribe, queue.snapshot);
  useEffect(() => () => queue.close(), [queue]);
  return { uploads, queue };
}
