/** A change on the server: the mutation, the dialog that confirms it, and what went wrong. */

import { useMutation, useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ComponentType, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Banner } from "@/components/ui/Banner";
import { CopyButton } from "@/components/ui/CopyButton";
import { ConfirmDialog } from "@/components/ui/Dialog";
import { Field, Input } from "@/components/ui/Field";
import { toast } from "@/components/ui/toast";
import { useErrorText } from "@/lib/errorText";

export interface ChangeOptions<Result, Variables = unknown> {
  /** The queries that the change invalidates. */
  keys: QueryKey[];
  /** Shown as a toast once it is done. */
  done?: string;
  onDone?: (result: Result, input: Variables) => void;
}

export function useChange<Variables, Result>(
  run: (input: Variables) => Promise<Result>,
  { keys, done, onDone }: ChangeOptions<Result, Variables>,
) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: async (result, input) => {
      await Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
      if (done !== undefined) toast(done);
      onDone?.(result, input);
    },
  });
}

export type ProblemView = ComponentType<{ error: unknown }>;

/** What went wrong with a change; it scrolls into view. */
export function Problem({ error }: { error: unknown }) {
  const textOf = useErrorText();
  if (error === null || error === undefined) return null;
  return <ProblemBanner error={error}>{textOf(error)}</ProblemBanner>;
}

export function ProblemBanner({ error, children }: { error: unknown; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView({ block: "nearest" });
  }, [error]);
  return (
    <div ref={place}>
      <Banner kind="danger">{children}</Banner>
    </div>
  );
}

export interface ConfirmChangeProps<Result> extends ChangeOptions<Result> {
  title: string;
  text: string;
  confirm: string;
  isDanger?: boolean;
  /** A name that has to be typed first. */
  typed?: string;
  run: () => Promise<Result>;
  problem?: ProblemView;
  onClose: () => void;
}

/** Confirm a change, make it, and close; an error stays in the dialog. */
export function ConfirmChange<Result>(props: ConfirmChangeProps<Result>) {
  const { title, text, confirm, typed, run, onClose, problem: View = Problem } = props;
  const [entered, setEntered] = useState("");
  const change = useChange(run, { ...props, onDone: props.onDone ?? onClose });
  const isConfirmed = typed === undefined || entered === typed;
  const start = () => change.mutate(undefined);
  return (
    <ConfirmDialog
      title={title}
      text={text}
      confirm={confirm}
      isHarmless={props.isDanger !== true}
      isBusy={change.isPending}
      isDisabled={!isConfirmed}
      onConfirm={start}
      onClose={onClose}
    >
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (isConfirmed) start();
        }}
      >
        {typed !== undefined && <TypedName name={typed} value={entered} onChange={setEntered} />}
        <View error={change.error} />
      </form>
    </ConfirmDialog>
  );
}

interface TypedNameProps {
  name: string;
  value: string;
  onChange: (value: string) => void;
}

function TypedName({ name, value, onChange }: TypedNameProps) {
  const { t } = useTranslation("admin");
  return (
    <Field label={t("typeToConfirm", { name })}>
      {(control) => (
        <Input
          {...control}
          value={value}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

/** A password or key that is shown now and never again. */
export function SecretOnce({ label, secret }: { label: string; secret: string }) {
  const { t } = useTranslation("admin");
  return (
    <div className="grid gap-2">
      <div className="text-sm font-medium">{label}</div>
      <div className="flex items-center gap-2 rounded-lg border border-line-strong bg-sunken py-1 pr-1 pl-3">
        <code
          aria-label={label}
          className="min-w-0 flex-1 font-mono text-sm [overflow-wrap:anywhere]"
        >
          {secret}
        </code>
        <CopyButton text={secret} />
      </div>
      <Banner kind="warn">{t("shownOnce")}</Banner>
    </div>
  );
}
