/** A data source ↔ the fields of its form. */

import type { Schemas } from "@/api/client";
import type { Source } from "@/features/data/queries";

const BYTES_PER_MB = 1_000_000;

interface SourceForm {
  name: string;
  kind: Source["kind"];
  /** Write-only: empty when a source is changed leaves its address as it is. */
  url: string;
  folder: string;
  description: string;
  timeZone: string;
  defaultPolicy: Source["default_policy"];
  /** As they are typed; empty is the usual. */
  maxRows: string;
  maxMegabytes: string;
  timeoutSeconds: string;
}

export const NEW_SOURCE: SourceForm = {
  name: "",
  kind: "database",
  url: "",
  folder: "",
  description: "",
  timeZone: "UTC",
  defaultPolicy: "allow",
  maxRows: "",
  maxMegabytes: "",
  timeoutSeconds: "",
};

export function sourceFormOf(source: Source): SourceForm {
  return {
    name: source.name,
    kind: source.kind,
    url: "",
    folder: source.folder ?? "",
    description: source.description,
    timeZone: source.time_zone,
    defaultPolicy: source.default_policy,
    maxRows: String(source.limits.max_rows),
    maxMegabytes: String(source.limits.max_bytes / BYTES_PER_MB),
    timeoutSeconds: String(source.limits.timeout_seconds),
  };
}

export function createOf(form: SourceForm): Schemas["SourceCreate"] {
  return {
    name: form.name.trim(),
    ...(form.kind === "database" ? { url: form.url.trim() } : { folder: form.folder.trim() }),
    description: form.description.trim(),
    time_zone: form.timeZone.trim(),
    default_policy: form.defaultPolicy,
    limits: limitsOf(form),
  };
}

/** Only what differs, so that an address, which is never shown, is kept. */
export function updateOf(form: SourceForm, source: Source): Schemas["SourceUpdate"] {
  const before = sourceFormOf(source);
  const limits = limitsOf(form);
  const update: Schemas["SourceUpdate"] = {};
  if (form.name.trim() !== before.name) update.name = form.name.trim();
  if (form.url.trim() !== "") update.url = form.url.trim();
  if (form.folder.trim() !== before.folder) update.folder = form.folder.trim();
  if (form.description.trim() !== before.description) update.description = form.description.trim();
  if (form.timeZone.trim() !== before.timeZone) update.time_zone = form.timeZone.trim();
  if (form.defaultPolicy !== before.defaultPolicy) update.default_policy = form.defaultPolicy;
  if (JSON.stringify(limits) !== JSON.stringify(limitsOf(before))) update.limits = limits;
  return update;
}

function limitsOf(form: SourceForm): Schemas["LimitsBody"] {
  const number = (text: string) => (text.trim() === "" ? null : Number(text));
  const megabytes = number(form.maxMegabytes);
  return {
    max_rows: number(form.maxRows),
    max_bytes: megabytes === null ? null : Math.round(megabytes * BYTES_PER_MB),
    timeout_seconds: number(form.timeoutSeconds),
  };
}
