/** Shows what `toast()` was given; a screen reader reads it out. */

import { X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { classes } from "@/lib/classes";

import { Button, IconButton } from "./Button";
import { currentToasts, dismissToast, onToasts } from "./toast";

export function Toaster() {
  const { t } = useTranslation();
  const toasts = useSyncExternalStore(onToasts, currentToasts);
  return (
    <Radix.Provider label={t("notification")} duration={7000}>
      {toasts.map((each) => (
        <Radix.Root
          key={each.id}
          onOpenChange={(isOpen) => !isOpen && dismissToast(each.id)}
          className={classes(
            "pointer-events-auto flex items-center gap-2 rounded-lg border border-line bg-raised py-2 pr-2 pl-4 text-sm shadow-float",
            each.tone === "danger" && "border-danger/60",
          )}
        >
          <Radix.Description className="min-w-0 flex-1 [overflow-wrap:anywhere]">
            {each.text}
          </Radix.Description>
          {each.action && (
            <Radix.Action asChild altText={each.action.label}>
              <Button
                size="small"
                variant="ghost"
                className="text-accent"
                onClick={each.action.run}
              >
                {each.action.label}
              </Button>
            </Radix.Action>
          )}
          <Radix.Close asChild>
            <IconButton icon={X} label={t("close")} isSmall />
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport className="fixed right-4 bottom-4 z-50 flex w-96 max-w-[calc(100vw-2rem)] flex-col gap-2 outline-none" />
    </Radix.Provider>
  );
}
