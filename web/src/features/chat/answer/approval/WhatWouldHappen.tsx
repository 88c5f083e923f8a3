/** What a call would do: the change it makes to a file, otherwise its arguments. */

import type { ActionRequest } from "@/events/types";

import { Arguments } from "../Arguments";
import { DiffView } from "../DiffView";

export function WhatWouldHappen({ action }: { action: ActionRequest }) {
  const { name, args, diff } = action;
  const path = args["file_path"] ?? args["path"];
  if (!diff || typeof path !== "string") return <Arguments tool={name} args={args} />;
  return (
    <div className="grid min-w-0 grid-cols-1 gap-1.5">
      <p className="font-mono text-[13px] [overflow-wrap:anywhere]">{path}</p>
      <DiffView diff={diff} path={path} />
    </div>
  );
}
