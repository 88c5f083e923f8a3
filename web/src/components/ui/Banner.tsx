/** A line that tells something about the whole page or a part of it. */

import { CircleAlert, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

import { classes } from "@/lib/classes";

const KINDS = {
  info: { look: "bg-accent-soft text-text", icon: Info },
  warn: { look: "bg-warn-soft text-text", icon: TriangleAlert },
  danger: { look: "bg-danger-soft text-text", icon: CircleAlert },
} as const;

interface BannerProps {
  kind?: keyof typeof KINDS;
  children: ReactNode;
  action?: ReactNode;
}

export function Banner({ kind = "info", children, action }: BannerProps) {
  const { look, icon: Icon } = KINDS[kind];
  return (
    <div
      role={kind === "danger" ? "alert" : "status"}
      className={classes("flex flex-wrap items-center gap-2 rounded-lg px-3 py-2 text-sm", look)}
    >
      <Icon className="size-4 shrink-0" aria-hidden />
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">{children}</div>
      {action}
    </div>
  );
}
