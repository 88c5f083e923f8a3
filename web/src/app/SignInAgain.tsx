/** When the login ends in the middle of work: sign in here, over the page, and lose nothing. */

import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { onSignedOut, SIGNED_IN_EVENT } from "@/api/client";
import { queryClient } from "@/api/queries";
import { Dialog } from "@/components/ui/Dialog";
import { SignInForm } from "@/features/auth/SignInForm";

export function SignInAgain() {
  const { t } = useTranslation("auth");
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => onSignedOut(() => setIsOpen(true)), []);
  const done = () => {
    setIsOpen(false);
    void queryClient.invalidateQueries();
    window.dispatchEvent(new Event(SIGNED_IN_EVENT));
  };
  return (
    <Dialog
      isOpen={isOpen}
      onClose={() => setIsOpen(false)}
      title={t("expiredTitle")}
      description={t("expiredText")}
      width="narrow"
      isSticky
    >
      <div className="pb-3">
        <SignInForm onDone={done} />
      </div>
    </Dialog>
  );
}
