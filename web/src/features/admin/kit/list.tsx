/** Lists of the administration: a section with its heading, rows with actions, pages, dialogs. */

import type { UseQueryResult } from "@tanstack/react-query";
import {
  ChevronLeft,
  ChevronRight,
  Copy,
  Ellipsis,
  Plus,
  RefreshCw,
  type LucideIcon,
} from "lucide-react";
import { Fragment, useEffect, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Button, IconButton } from "@/components/ui/Button";
import { useCopy } from "@/components/ui/CopyButton";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "@/components/ui/Menu";
import { Table, type Column } from "@/components/ui/Table";
import { toast } from "@/components/ui/toast";
import { formatNumber } from "@/lib/format";

import { ConfirmChange, type ConfirmChangeProps } from "./change";
import { Loaded } from "./load";

/** Renders a dialog; it is unmounted by `close`. */
type OpenDialog = (close: () => void) => ReactNode;

/** The dialog that is open, if any, and how to open one. */
export function useDialog(): [ReactNode, (dialog: OpenDialog) => void] {
  const [opened, setOpened] = useState<OpenDialog | null>(null);
  const close = () => setOpened(null);
  return [opened?.(close), (dialog) => setOpened(() => dialog)];
}

interface SectionProps {
  title: string;
  text?: ReactNode;
  /** How something is added to it. */
  add?: AddButtonProps;
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of a section: a heading, what it is for, its actions, its content. */
export function Section({ title, text, add, actions, children }: SectionProps) {
  return (
    <section className="grid min-w-0 gap-4">
      <header className="flex flex-wrap items-start gap-3">
        <div className="min-w-0 flex-1 basis-60">
          <h2 className="text-lg font-semibold">{title}</h2>
          {text !== undefined && <div className="mt-1 max-w-2xl text-sm text-muted">{text}</div>}
        </div>
        {(actions !== undefined || add !== undefined) && (
          <div className="flex flex-wrap gap-2">
            {actions}
            {add && <AddButton {...add} />}
          </div>
        )}
      </header>
      {children}
    </section>
  );
}

interface AddButtonProps {
  label: string;
  variant?: "primary" | "secondary";
  isDisabled?: boolean;
  dialog: OpenDialog;
}

export function AddButton({ label, variant = "primary", isDisabled, dialog }: AddButtonProps) {
  const [opened, open] = useDialog();
  return (
    <>
      <Button variant={variant} disabled={isDisabled ?? false} onClick={() => open(dialog)}>
        <Plus className="size-4" aria-hidden />
        {label}
      </Button>
      {opened}
    </>
  );
}

export function RefreshButton({ query }: { query: UseQueryResult }) {
  const { t } = useTranslation();
  return (
    <Button isBusy={query.isFetching} onClick={() => void query.refetch()}>
      {!query.isFetching && <RefreshCw className="size-4" aria-hidden />}
      {t("refresh")}
    </Button>
  );
}

export interface RowAction {
  /** In the menu its text, in the row its name for screen readers. */
  label: string;
  icon?: LucideIcon;
  /** What a button without an icon shows. */
  text?: string;
  isDanger?: boolean;
  isDisabled?: boolean;
  dialog?: OpenDialog;
  run?: () => void;
}

interface ConfirmedAction<Result>
  extends
    Omit<RowAction, "dialog" | "run">,
    Omit<ConfirmChangeProps<Result>, "confirm" | "isDanger" | "onClose" | "text"> {
  /** What the change does, in the dialog. */
  explanation: string;
  /** The text of the dialog's button, if it is not that of the action. */
  confirm?: string;
  /** It can be undone: it stands among the usual actions, however much it changes. */
  isReversible?: boolean;
}

/** An action that is confirmed in a dialog. */
export function confirmed<Result>(action: ConfirmedAction<Result>): RowAction {
  const { label, text = label, icon, isDisabled, isReversible = false, ...more } = action;
  const { explanation, confirm = text, ...change } = more;
  return {
    label,
    text,
    ...(icon && { icon }),
    isDanger: change.isDanger === true && !isReversible,
    isDisabled: isDisabled ?? false,
    dialog: (close) => (
      <ConfirmChange {...change} text={explanation} confirm={confirm} onClose={close} />
    ),
  };
}

interface RowMenuProps {
  label: string;
  actions: RowAction[];
  /** Said above them. */
  note?: string | undefined;
  /** An id that can be copied, for policies and the API. */
  id?: string;
  onDialog: (dialog: OpenDialog) => void;
}

/** The actions of a row behind a button; what deletes stands last and apart. */
function RowMenu({ label, actions, note, id, onDialog }: RowMenuProps) {
  const { t } = useTranslation("admin");
  const { t: common } = useTranslation();
  const copy = useCopy();
  const usual = actions.filter((each) => each.isDanger !== true);
  const dangers = actions.filter((each) => each.isDanger === true);
  const item = (action: RowAction) => (
    <MenuItem
      key={action.label}
      {...(action.icon && { icon: action.icon })}
      isDanger={action.isDanger ?? false}
      isDisabled={action.isDisabled ?? false}
      onSelect={() => start(action, onDialog)}
    >
      {action.label}
    </MenuItem>
  );
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={label} isSmall />}>
      {note !== undefined && (
        <MenuLabel>
          <span className="block max-w-56">{note}</span>
        </MenuLabel>
      )}
      {usual.map(item)}
      {id !== undefined && (
        <MenuItem icon={Copy} onSelect={() => copy(id, () => toast(common("copied")))}>
          {t("copyId")}
        </MenuItem>
      )}
      {dangers.length > 0 && (usual.length > 0 || id !== undefined) && <MenuSeparator />}
      {dangers.map(item)}
    </Menu>
  );
}

function start({ dialog, run }: RowAction, onDialog: (dialog: OpenDialog) => void): void {
  run?.();
  if (dialog !== undefined) onDialog(dialog);
}

interface RowButtonProps {
  action: RowAction;
  onDialog: (dialog: OpenDialog) => void;
}

function RowButton({ action, onDialog }: RowButtonProps) {
  const { label, icon, text = label, isDanger = false, isDisabled = false } = action;
  const onClick = () => start(action, onDialog);
  if (icon !== undefined)
    return <IconButton icon={icon} label={label} disabled={isDisabled} onClick={onClick} isSmall />;
  return (
    <Button
      size="small"
      variant={isDanger ? "danger" : "secondary"}
      aria-label={label}
      disabled={isDisabled}
      onClick={onClick}
    >
      {text}
    </Button>
  );
}

interface RowButtonsProps {
  actions: readonly (RowAction | false)[];
  menu?: Omit<RowMenuProps, "onDialog"> | undefined;
  /** Shows a dialog where it outlives the row; without, it is shown here. */
  onDialog?: (dialog: OpenDialog) => void;
}

/** What can be done with a thing: buttons, a menu, and the dialog that one of them opened. */
export function RowButtons({ actions, menu, onDialog }: RowButtonsProps) {
  const [opened, openHere] = useDialog();
  const open = onDialog ?? openHere;
  return (
    <span className="inline-flex items-center gap-1">
      {actions.map(
        (action) =>
          action !== false && <RowButton key={action.label} action={action} onDialog={open} />,
      )}
      {menu !== undefined && <RowMenu {...menu} onDialog={open} />}
      {opened}
    </span>
  );
}

interface ResourceTableProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row) => string | number;
  buttons?: (row: Row) => readonly (RowAction | false)[];
  menu?: (row: Row) => RowButtonsProps["menu"];
  /** The heading of the column of actions. */
  actionsLabel?: string;
}

/** A table whose rows have buttons and menus. */
export function ResourceTable<Row>(props: ResourceTableProps<Row>) {
  const { t } = useTranslation("admin");
  const { buttons, menu, actionsLabel = t("actions"), columns, ...table } = props;
  const [opened, open] = useDialog();
  const actions: Column<Row> = {
    header: actionsLabel,
    isRight: true,
    cell: (row) => <RowButtons actions={buttons?.(row) ?? []} menu={menu?.(row)} onDialog={open} />,
  };
  return (
    <>
      <Table {...table} columns={buttons || menu ? [...columns, actions] : columns} />
      {opened}
    </>
  );
}

interface ResourceListProps<Row, Data extends { items: Row[] }> extends Omit<
  ResourceTableProps<Row>,
  "rows"
> {
  query: UseQueryResult<Data>;
  /** In the place of the table when there are no rows. */
  empty: ReactNode;
  /** Above the table. */
  text?: ReactNode;
  paging?: Pages;
  lines?: number;
}

/** The rows that a query loads, page by page if there are pages. */
export function ResourceList<Row, Data extends { items: Row[]; total?: number }>({
  query,
  empty,
  text,
  paging,
  lines,
  ...table
}: ResourceListProps<Row, Data>) {
  return (
    <Loaded query={query} {...(lines !== undefined && { lines })}>
      {(data) => (
        <Fragment>
          {data.items.length > 0 && text}
          {data.items.length === 0 ? empty : <ResourceTable {...table} rows={data.items} />}
          {paging && <Paging {...paging} total={data.total ?? data.items.length} />}
        </Fragment>
      )}
    </Loaded>
  );
}

/** Where one is in a list of many pages. */
interface Pages {
  offset: number;
  pageSize: number;
  onChange: (offset: number) => void;
}

export function usePages(pageSize: number): Pages {
  const [offset, setOffset] = useState(0);
  return { offset, pageSize, onChange: setOffset };
}

/** Previous and next page; a page that no longer exists is left for the last one. */
export function Paging({ offset, pageSize, total, onChange }: Pages & { total: number }) {
  const { t } = useTranslation("admin");
  const lastOffset = Math.max(0, Math.ceil(total / pageSize) - 1) * pageSize;
  const isGone = offset > lastOffset;
  useEffect(() => {
    if (isGone) onChange(lastOffset);
  }, [isGone, lastOffset, onChange]);
  if (total === 0) return null;
  const last = Math.min(offset + pageSize, total);
  return (
    <nav aria-label={t("paging.label")} className="flex items-center justify-end gap-1 text-sm">
      <span className="mr-2 text-muted" aria-live="polite">
        {t("paging.position", {
          first: formatNumber(Math.min(offset + 1, total)),
          last: formatNumber(last),
          total: formatNumber(total),
        })}
      </span>
      <IconButton
        icon={ChevronLeft}
        label={t("paging.previous")}
        disabled={offset === 0}
        onClick={() => onChange(Math.max(0, offset - pageSize))}
        isSmall
      />
      <IconButton
        icon={ChevronRight}
        label={t("paging.next")}
        disabled={last >= total}
        onClick={() => onChange(offset + pageSize)}
        isSmall
      />
    </nav>
  );
}
