/** Asks for the messages before those that are shown. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";
import { useErrorText } from "@/lib/errorText";

interface EarlierButtonProps {
  height: number;
  onLoad: () => Promise<void>;
}

export function EarlierButton({ height, onLoad }: EarlierButtonProps) {
  const { t } = useTranslation("chat");
  const errorText = useErrorText();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const load = async () => {
    setIsBusy(true);
    setProblem(null);
    try {
      await onLoad();
    } catch (error) {
      setProblem(error);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <div className="flex items-center justify-center gap-2 px-4" style={{ height }}>
      <Button size="small" isBusy={isBusy} onClick={() => void load()}>
        {t("earlier")}
      </Button>
      {problem !== null && (
        <span role="alert" className="truncate text-sm text-danger">
          {errorText(problem)}
        </span>
      )}
    </div>
  );
}
