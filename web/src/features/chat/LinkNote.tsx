/** A quiet line while the connection is not there. What was asked and answered stays. */

import { LogIn, Unplug, WifiOff } from "lucide-react";
import { useEffect, useState, useSyncExternalStore, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { tellSignedOut } from "@/api/client";
import { Button } from "@/components/ui/Button";
import type { LinkStatus } from "@/events/link";

const QUIET_MS = 1500;

export function LinkNote({ status }: { status: LinkStatus }) {
  const { t } = useTranslation("chat");
  const isOnline = useIsOnline();
  const isLate = useIsLate(status !== "open");
  if (!isOnline) return <Note icon={WifiOff} text={t("offlineBrowser")} />;
  if (status === "signed_out") {
    return (
      <Note
        icon={LogIn}
        text={t("signedOut")}
        action={
          <Button size="small" onClick={tellSignedOut}>
            {t("signInAgain")}
          </Button>
        }
      />
    );
  }
  return isLate ? <Note icon={Unplug} text={t("lost")} /> : null;
}

interface NoteProps {
  icon: typeof Unplug;
  text: string;
  action?: ReactNode;
}

function Note({ icon: Icon, text, action }: NoteProps) {
  return (
    <div role="status" className="flex items-center justify-center gap-2 pb-2 text-sm text-muted">
      <Icon className="size-4 shrink-0" aria-hidden />
      <span>{text}</span>
      {action}
    </div>
  );
}

/** Whether something has been so for a while: short interruptions are nobody's business. */
function useIsLate(isSo: boolean): boolean {
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(isSo), isSo ? QUIET_MS : 0);
    return () => clearTimeout(timer);
  }, [isSo]);
  return isSo && isLate;
}

function onNetwork(listener: () => void): () => void {
  window.addEventListener("online", listener);
  window.addEventListener("offline", listener);
  return () => {
    window.removeEventListener("online", listener);
    window.removeEventListener("offline", listener);
  };
}

function useIsOnline(): boolean {
  return useSyncExternalStore(onNetwork, () => navigator.onLine);
}
