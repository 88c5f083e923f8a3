/** Forms as lists of fields, and the dialog that creates or changes a thing. */

import { Fragment, useState, type ComponentProps, type ReactNode } from "react";

import { focusFirstProblem, FormDialog } from "@/components/ui/Dialog";
import { Checkbox, Field, Input, Select, Textarea, type FieldControl } from "@/components/ui/Field";

import { Problem, useChange, type ChangeOptions, type ProblemView } from "./change";
import { UserSelect } from "./people";

/** The values of a form, and how they are changed. */
interface FormPart<Form> {
  form: Form;
  change: (changes: Partial<Form>) => void;
}

/** A field of a form: it renders the control of one of its values. */
type FieldOf<Form> = (part: FormPart<Form>) => ReactNode;

/** The fields of a form in their order; elements stand for parts that no field renders. */
export type FieldList<Form> = readonly (FieldOf<Form> | ReactNode)[];

export interface FieldsProps<Form> extends FormPart<Form> {
  fields: FieldList<Form>;
}

export function Fields<Form>({ fields, ...part }: FieldsProps<Form>) {
  return fields.map((field, at) => (
    <Fragment key={at}>{typeof field === "function" ? field(part) : field}</Fragment>
  ));
}

interface Labelled {
  hint?: ReactNode;
  error?: string | null | undefined;
}

/** ControlAttributes of the control itself. */
type ControlAttributes<Element extends "input" | "textarea" | "select"> = Labelled &
  Omit<ComponentProps<Element>, "id" | "name" | "value" | "onChange" | "children">;

type TextControlProps = FieldControl & {
  value: string;
  onChange: (event: { target: { value: string } }) => void;
};

function textField<Name extends string, Value extends string>(
  name: Name,
  label: string,
  { hint, error }: Labelled,
  render: (props: TextControlProps) => ReactNode,
): FieldOf<Record<Name, Value>> {
  return ({ form, change }) => (
    <Field label={label} hint={hint} error={error ?? null}>
      {(control) =>
        render({
          ...control,
          value: form[name],
          // A computed name widens to any name, and a control's value to any text.
          onChange: (event) =>
            change({ [name]: event.target.value } as unknown as Record<Name, Value>),
        })
      }
    </Field>
  );
}

/** One line of text. */
export function input<Name extends string>(
  name: Name,
  label: string,
  { hint, error, ...attributes }: ControlAttributes<"input"> = {},
) {
  return textField<Name, string>(name, label, { hint, error }, (props) => (
    <Input {...attributes} {...props} />
  ));
}

/** Several lines of text. */
export function lines<Name extends string>(
  name: Name,
  label: string,
  { hint, error, ...attributes }: ControlAttributes<"textarea"> = {},
) {
  return textField<Name, string>(name, label, { hint, error }, (props) => (
    <Textarea {...attributes} {...props} />
  ));
}

interface Option<Value> {
  value: Value;
  label: string;
}

/** One of several values; `empty` is the text of "" where nothing can be chosen. */
export function choice<Name extends string, Value extends string, Empty extends string = never>(
  name: Name,
  label: string,
  options: readonly Option<Value>[],
  { hint, error, empty, ...attributes }: ControlAttributes<"select"> & { empty?: Empty } = {},
) {
  return textField<Name, Value | ([Empty] extends [never] ? never : "")>(
    name,
    label,
    { hint, error },
    (props) => (
      <Select {...attributes} {...props}>
        {empty !== undefined && <option value="">{empty}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </Select>
    ),
  );
}

/** One of the accounts; `empty` is the text of the choice of none. */
export function user<Name extends string>(name: Name, label: string, empty: string) {
  return textField<Name, string>(name, label, {}, ({ value, onChange, ...control }) => (
    <UserSelect
      control={control}
      value={value}
      empty={empty}
      onChange={(id) => onChange({ target: { value: id } })}
    />
  ));
}

export function checkbox<Name extends string>(
  name: Name,
  label: string,
): FieldOf<Record<Name, boolean>> {
  return ({ form, change }) => (
    <Checkbox
      label={label}
      checked={form[name]}
      onChange={(event) => change({ [name]: event.target.checked } as Record<Name, boolean>)}
    />
  );
}

interface RowOptions {
  columns?: 2 | 3;
  /** With a legend the row is a group of its own. */
  legend?: string;
  hint?: string;
}

const COLUMNS = {
  2: "grid items-start gap-4 sm:grid-cols-2",
  3: "grid items-start gap-3 sm:grid-cols-3",
} as const;

/** Fields side by side. */
export function row<Form>(
  fields: FieldList<NoInfer<Form>>,
  { columns = 2, legend, hint }: RowOptions = {},
): FieldOf<Form> {
  return function Row(part) {
    const grid = (
      <div className={COLUMNS[columns]}>
        <Fields fields={fields} {...part} />
      </div>
    );
    if (legend === undefined) return grid;
    return (
      <fieldset className="grid gap-2">
        <legend className="mb-2 text-sm font-medium">{legend}</legend>
        {grid}
        {hint !== undefined && <p className="text-xs text-muted">{hint}</p>}
      </fieldset>
    );
  };
}

/** ControlAttributes of text that is a name or an address and no prose. */
export const PLAIN = { autoComplete: "off", spellCheck: false } as const;

interface FormState<Form, Problems> extends FormPart<Form> {
  /** What is wrong; nothing until it was tried to save. */
  problems: Partial<Problems>;
}

interface EditDialogProps<Form, Result, Problems> extends ChangeOptions<Result, Form> {
  title: string;
  description?: string;
  width?: "narrow" | "medium" | "wide";
  save?: string;
  note?: (form: Form) => ReactNode;
  initial: () => Form;
  fields: (state: FormState<Form, Problems>) => FieldList<Form>;
  /** With it the form checks its fields itself, without it the browser does. */
  check?: (form: Form) => Partial<Problems>;
  isDisabled?: (form: Form) => boolean;
  run: (form: Form) => Promise<Result>;
  problem?: ProblemView;
  onClose: () => void;
}

/** A form in a dialog. Without `onDone` it closes once it is saved. */
export function EditDialog<Form, Result, Problems = object>(
  props: EditDialogProps<Form, Result, Problems>,
) {
  const { run, check, onClose, problem: View = Problem } = props;
  const [form, setForm] = useState(props.initial);
  const [isTried, setIsTried] = useState(false);
  const save = useChange(run, { ...props, onDone: props.onDone ?? onClose });
  const found = check?.(form) ?? {};
  const change = (changes: Partial<Form>) => setForm((now) => ({ ...now, ...changes }));
  const submit = (element: HTMLFormElement) => {
    setIsTried(true);
    if (Object.keys(found).length === 0) save.mutate(form);
    else focusFirstProblem(element);
  };
  return (
    <FormDialog
      title={props.title}
      {...(props.description !== undefined && { description: props.description })}
      {...(props.width !== undefined && { width: props.width })}
      {...(props.save !== undefined && { save: props.save })}
      {...(props.note !== undefined && { note: props.note(form) })}
      hasOwnChecks={check !== undefined}
      isDisabled={props.isDisabled?.(form) ?? false}
      isBusy={save.isPending}
      problem={<View error={save.error} />}
      onSubmit={submit}
      onClose={onClose}
    >
      <Fields
        form={form}
        fields={props.fields({ form, change, problems: isTried ? found : {} })}
        change={change}
      />
    </FormDialog>
  );
}
