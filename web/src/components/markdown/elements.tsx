/** How the elements of a Markdown text are shown, where that is not left to the style sheet. */

import { ImageOff, Square, SquareCheck } from "lucide-react";
import { use, type ComponentType, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { ExtraProps } from "react-markdown";

import { FigureMark } from "@/features/artifacts/FigureMark";

import { CodeBlock } from "../CodeBlock";
import { BlockFigures } from "./figuresContext";
import { linkTarget } from "./links";

type ElementNode = NonNullable<ExtraProps["node"]>;

interface ElementProps extends ExtraProps {
  children?: ReactNode;
}

/** A link that says where it leads; one that must not be followed is its text. */
export function LinkElement({ href, children, node }: ElementProps & { href?: string }) {
  const { t } = useTranslation("answer");
  const target = linkTarget(href);
  if (target === null) return <>{children}</>;
  if (target.kind === "download") {
    return (
      <a href={target.href} download>
        {children}
      </a>
    );
  }
  const place = target.kind === "web" ? target.host : target.address;
  const isSaid = node !== undefined && textOf(node).includes(place);
  return (
    <a href={target.href} target="_blank" rel="noopener noreferrer">
      {children}
      {!isSaid && <span className="text-xs text-muted"> ({place})</span>}
      <span className="sr-only"> {t("newTab")}</span>
    </a>
  );
}

function textOf(node: ElementNode | ElementNode["children"][number]): string {
  if ("value" in node) return node.value;
  return "children" in node ? node.children.map(textOf).join("") : "";
}

/** Pictures are not loaded: their address can carry data out. */
export function ImageElement({ alt }: { alt?: string }) {
  const { t } = useTranslation("answer");
  return (
    <span className="inline-flex items-center gap-1 rounded bg-sunken px-1.5 text-sm text-muted">
      <ImageOff className="size-3.5" aria-hidden />
      {alt ? t("image", { alt }) : t("imageWithoutText")}
    </span>
  );
}

export function CodeElement({ node }: ElementProps) {
  const code = node?.children[0];
  const names = code?.type === "element" ? code.properties["className"] : null;
  const language = (Array.isArray(names) ? names : [])
    .map(String)
    .find((name) => name.startsWith("language-"));
  return (
    <CodeBlock
      code={code ? textOf(code).replace(/\n$/, "") : ""}
      language={language?.slice("language-".length) ?? ""}
    />
  );
}

export function TableElement({ children }: ElementProps) {
  const { t } = useTranslation("answer");
  return (
    <div
      role="group"
      tabIndex={0}
      aria-label={t("table")}
      className="my-2 max-w-full overflow-x-auto rounded-lg border border-line"
    >
      <table>{children}</table>
    </div>
  );
}

export function TaskElement({ checked }: { checked?: boolean }) {
  const { t } = useTranslation("answer");
  const Icon = checked === true ? SquareCheck : Square;
  return (
    <Icon
      role="img"
      aria-label={checked === true ? t("todos.completed") : t("todos.pending")}
      className="mr-1.5 inline size-4 align-[-0.15em] text-muted"
    />
  );
}

export function FigureElement({ node, children }: ElementProps) {
  const number = node?.properties["dataFigure"];
  const figure = use(BlockFigures)[Number(number)];
  if (figure === undefined) return <>{children}</>;
  return <FigureMark marked={figure.marked}>{children}</FigureMark>;
}

/** A heading of a text, as another level of the page. */
export function heading(Level: "h3" | "h4" | "h5" | "h6"): ComponentType<ElementProps> {
  return function Heading({ children }: ElementProps) {
    return <Level>{children}</Level>;
  };
}
