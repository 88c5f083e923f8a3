/** The end of a list that goes on: loads the next page when it comes into view, or when pressed. */

import { useEffect, useEffectEvent, useRef } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";

interface MoreButtonProps {
  isBusy: boolean;
  /** The last try failed: the next one is the user's, or it would be tried without end. */
  hasFailed: boolean;
  onMore: () => void;
}

export function MoreButton({ isBusy, hasFailed, onMore }: MoreButtonProps) {
  const { t } = useTranslation("chat");
  const end = useRef<HTMLDivElement>(null);
  const more = useEffectEvent(onMore);
  useEffect(() => {
    if (isBusy || hasFailed || !end.current) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) more();
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [isBusy, hasFailed]);
  return (
    <div ref={end} className="py-2 text-center">
      <Button size="small" variant="ghost" isBusy={isBusy} onClick={onMore}>
        {t("list.more")}
      </Button>
    </div>
  );
}
