/** Submit a form, or go back to the choices. */

import { useTranslation } from "react-i18next";

import { Button } from "@/components/ui/Button";

interface FormButtonsProps {
  text: string;
  isBusy: boolean;
  isDanger?: boolean;
  onBack: () => void;
}

export function FormButtons({ text, isBusy, isDanger = false, onBack }: FormButtonsProps) {
  const { t } = useTranslation();
  return (
    <>
      <Button type="submit" variant={isDanger ? "danger" : "primary"} isBusy={isBusy}>
        {text}
      </Button>
      <Button variant="ghost" disabled={isBusy} onClick={onBack}>
        {t("back")}
      </Button>
    </>
  );
}
