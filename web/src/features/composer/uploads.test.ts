import { describe, expect, it, vi } from "vitest";

import type { Attachment } from "@/events/state";

import { FileTooBig, UploadQueue, type SendFile } from "./uploads";

interface Sending {
  file: File;
  onProgress: (progress: number) => void;
  signal: AbortSignal;
  done: (attachment: Attachment) => void;
  fail: (error: unknown) => void;
}

/** A queue whose files arrive when the test says so. */
function held() {
  const sendings: Sending[] = [];
  const done: Attachment[] = [];
  const send: SendFile = (file, onProgress, signal) =>
    new Promise((resolve, reject) => {
      sendings.push({ file, onProgress, signal, done: resolve, fail: reject });
    });
  const queue = new UploadQueue(send, (attachment) => done.push(attachment));
  const sending = (at: number): Sending => {
    const found = sendings[at];
    if (!found) throw new Error(`nothing was sent at ${at}`);
    return found;
  };
  const names = () => queue.snapshot().map((upload) => [upload.filename, upload.status]);
  return { queue, sendings, sending, done, names };
}

function file(name: string, size = 3): File {
  return new File(["x".repeat(size)], name);
}

describe("UploadQueue", () => {
  it("sends three at once and the next when one has arrived", async () => {
    const { queue, sendings, sending, done, names } = held();
    queue.add(
      ["a", "b", "c", "d"].map((name) => file(name)),
      10,
    );
    expect(names().map(([, status]) => status)).toEqual([
      "sending",
      "sending",
      "sending",
      "waiting",
    ]);
    sending(0).done({ fileId: "1", filename: "a" });
    await vi.waitFor(() => expect(sendings).toHaveLength(4));
    expect(done).toEqual([{ fileId: "1", filename: "a" }]);
    expect(names().map(([name]) => name)).toEqual(["b", "c", "d"]);
  });

  it("shows the progress of each", () => {
    const { queue, sending } = held();
    queue.add([file("a"), file("b")], 10);
    sending(1).onProgress(0.5);
    expect(queue.snapshot().map((upload) => upload.progress)).toEqual([0, 0.5]);
  });

  it("keeps a failed one, and sends it again when asked", async () => {
    const { queue, sendings, sending, names, done } = held();
    queue.add([file("a")], 10);
    sending(0).fail(new Error("no network"));
    await vi.waitFor(() => expect(names()).toEqual([["a", "failed"]]));
    const failed = queue.snapshot()[0];
    expect(failed?.problem).toEqual(new Error("no network"));
    queue.retry(failed?.id ?? "");
    expect(sendings).toHaveLength(2);
    sending(1).done({ fileId: "1", filename: "a" });
    await vi.waitFor(() => expect(done).toHaveLength(1));
    expect(names()).toEqual([]);
  });

  it("does not send a file over the limit, and does not offer to", () => {
    const { queue, sendings } = held();
    queue.add([file("big", 11), file("small", 10)], 10);
    const [big, small] = queue.snapshot();
    expect(big).toMatchObject({ status: "failed", canRetry: false, problem: new FileTooBig(10) });
    expect(small?.status).toBe("sending");
    queue.retry(big?.id ?? "");
    expect(sendings.map((each) => each.file.name)).toEqual(["small"]);
  });

  it("breaks off what is removed, and does not attach it", async () => {
    const { queue, sending, done, names } = held();
    queue.add([file("a")], 10);
    queue.remove(queue.snapshot()[0]?.id ?? "");
    expect(sending(0).signal.aborted).toBe(true);
    sending(0).done({ fileId: "1", filename: "a" });
    await Promise.resolve();
    expect(done).toEqual([]);
    expect(names()).toEqual([]);
  });

  it("breaks off everything when it is closed, and begins nothing more", () => {
    const { queue, sendings, names } = held();
    queue.add(
      ["a", "b", "c", "d", "e"].map((name) => file(name)),
      10,
    );
    queue.close();
    expect(sendings.map((each) => [each.file.name, each.signal.aborted])).toEqual([
      ["a", true],
      ["b", true],
      ["c", true],
    ]);
    expect(names()).toEqual([]);
  });

  it("tells who listens, until they stop", () => {
    const { queue } = held();
    const listener = vi.fn();
    const stop = queue.subscribe(listener);
    queue.add([file("a")], 10);
    expect(listener).toHaveBeenCalled();
    stop();
    listener.mockClear();
    queue.close();
    expect(listener).not.toHaveBeenCalled();
  });
});
