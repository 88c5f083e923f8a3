/** What a screen shows when it has nothing, not yet, or not at all. */

import { CircleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { useErrorText } from "@/lib/errorText";

import { Button } from "./Button";

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  /** It is all the page has: its heading. */
  isPage?: boolean;
  text?: ReactNode;
  action?: ReactNode;
}

export function EmptyState({ icon: Icon, title, isPage = false, text, action }: EmptyProps) {
  const Title = isPage ? "h1" : "p";
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <Icon className="size-8 text-muted" aria-hidden />
      <Title className="font-medium">{title}</Title>
      {text !== undefined && <div className="max-w-md text-sm text-muted">{text}</div>}
      {action !== undefined && <div className="mt-2">{action}</div>}
    </div>
  );
}

export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useTranslation();
  const text = useErrorText()(error);
  return (
    <div role="alert" className="flex flex-col items-center gap-2 px-6 py-10 text-center">
      <CircleAlert className="size-8 text-danger" aria-hidden />
      <p className="max-w-md text-sm [overflow-wrap:anywhere]">{text}</p>
      {onRetry && <Button onClick={onRetry}>{t("tryAgain")}</Button>}
    </div>
  );
}

/** Grey lines in the place of text that is on its way. */
export function LoadingState({ lines = 4 }: { lines?: number }) {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t("loading")} className="grid gap-3 p-4">
      {Array.from({ length: lines }, (_, at) => (
        <div
          key={at}
          className="h-4 animate-pulse rounded bg-sunken"
          style={{ width: `${90 - (at % 3) * 20}%` }}
        />
      ))}
    </div>
  );
}
