/** Forms from descriptions of their fields, and the dialog that creates or changes a thing. */

import { useState, type ComponentProps, type ReactNode } from "react";

import { Checkbox } from "@/components/ui/Checkbox";
import { Field, type FieldControl } from "@/components/ui/Field";
import { FormDialog } from "@/components/ui/FormDialog";
import { Input, Select, Textarea } from "@/components/ui/Input";
import { focusFirstProblem } from "@/features/mcp/focusProblem";

import { Problem, useChange, type ChangeOptions, type ProblemView } from "./change";
import { UserSelect } from "./people";

export interface Option {
  value: string;
  label: string;
}

/** The names of a form's entries of one type. */
type NameOf<Form, Value> = {
  [Name in keyof Form & string]: Form[Name] extends Value ? Name : never;
}[keyof Form & string];

interface Labelled {
  label: string;
  hint?: ReactNode;
  error?: string | null | undefined;
}

/** Attributes of the control that holds the value. */
type Attributes<Element extends "input" | "textarea" | "select"> = Omit<
  ComponentProps<Element>,
  "id" | "name" | "value" | "onChange" | "children"
>;

interface InputField<Form> extends Labelled {
  kind: "input";
  name: NameOf<Form, string>;
  input?: Attributes<"input">;
}

interface LinesField<Form> extends Labelled {
  kind: "lines";
  name: NameOf<Form, string>;
  input?: Attributes<"textarea">;
}

interface ChoiceField<Form> extends Labelled {
  kind: "choice";
  name: NameOf<Form, string>;
  options: readonly Option[];
  /** The text of the choice of nothing, where that is one. */
  empty?: string;
  input?: Attributes<"select">;
}

interface UserField<Form> extends Labelled {
  kind: "user";
  name: NameOf<Form, string>;
  empty: string;
}

interface CheckField<Form> {
  kind: "check";
  name: NameOf<Form, boolean>;
  label: string;
}

/** Fields side by side; with a legend they are a group of their own. */
interface FieldRow<Form> {
  kind: "row";
  columns?: 2 | 3;
  legend?: string;
  hint?: string;
  fields: FieldList<Form>;
}

/** A part of a form that no other kind describes. */
interface OwnField {
  kind: "own";
  content: ReactNode;
}

export type FieldSpec<Form> =
  | InputField<Form>
  | LinesField<Form>
  | ChoiceField<Form>
  | UserField<Form>
  | CheckField<Form>
  | FieldRow<Form>
  | OwnField;

/** `false` stands for a field that the form does not have now. */
export type FieldList<Form> = readonly (FieldSpec<Form> | false)[];

export interface FieldsProps<Form> {
  form: Form;
  fields: FieldList<Form>;
  change: (changes: Partial<Form>) => void;
}

export function Fields<Form>({ form, fields, change }: FieldsProps<Form>) {
  return fields.map(
    (field, at) => field && <FormField key={at} form={form} field={field} change={change} />,
  );
}

const COLUMNS = {
  2: "grid items-start gap-4 sm:grid-cols-2",
  3: "grid items-start gap-3 sm:grid-cols-3",
} as const;

interface FormFieldProps<Form> extends Omit<FieldsProps<Form>, "fields"> {
  field: FieldSpec<Form>;
}

function FormField<Form>({ form, field, change }: FormFieldProps<Form>) {
  // The names of fields are those of entries with values of the field's type.
  const put = (name: string, value: unknown) => change({ [name]: value } as Partial<Form>);
  switch (field.kind) {
    case "own":
      return field.content;
    case "row":
      return <FieldRowView form={form} row={field} change={change} />;
    case "check":
      return (
        <Checkbox
          label={field.label}
          checked={form[field.name] as boolean}
          onChange={(event) => put(field.name, event.target.checked)}
        />
      );
    default:
      return (
        <Field label={field.label} hint={field.hint} error={field.error ?? null}>
          {(control) => (
            <TextControl
              field={field}
              control={control}
              value={form[field.name] as string}
              onChange={(value) => put(field.name, value)}
            />
          )}
        </Field>
      );
  }
}

function FieldRowView<Form>({
  form,
  row,
  change,
}: Omit<FieldsProps<Form>, "fields"> & { row: FieldRow<Form> }) {
  const fields = (
    <div className={COLUMNS[row.columns ?? 2]}>
      <Fields form={form} fields={row.fields} change={change} />
    </div>
  );
  if (row.legend === undefined) return fields;
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-2 text-sm font-medium">{row.legend}</legend>
      {fields}
      {row.hint !== undefined && <p className="text-xs text-muted">{row.hint}</p>}
    </fieldset>
  );
}

interface TextControlProps<Form> {
  field: InputField<Form> | LinesField<Form> | ChoiceField<Form> | UserField<Form>;
  control: FieldControl;
  value: string;
  onChange: (value: string) => void;
}

function TextControl<Form>({ field, control, value, onChange }: TextControlProps<Form>) {
  const props = {
    ...control,
    value,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  switch (field.kind) {
    case "input":
      return <Input {...field.input} {...props} />;
    case "lines":
      return <Textarea {...field.input} {...props} />;
    case "user":
      return <UserSelect control={control} value={value} empty={field.empty} onChange={onChange} />;
    case "choice":
      return (
        <Select {...field.input} {...props}>
          {field.empty !== undefined && <option value="">{field.empty}</option>}
          {field.options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </Select>
      );
  }
}

/** Attributes of text that is a name or an address and no prose. */
export const PLAIN = { autoComplete: "off", spellCheck: false } as const;

interface FormState<Form, Problems> {
  form: Form;
  change: (changes: Partial<Form>) => void;
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
