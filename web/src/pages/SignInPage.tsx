/** `/login` */

import { useNavigate, useSearch } from "@tanstack/react-router";
import { ChartNoAxesColumn } from "lucide-react";
import { useTranslation } from "react-i18next";

import { queryClient } from "@/api/queries";
import { SignInForm } from "@/features/auth/SignInForm";
import { usePageTitle } from "@/lib/pageTitle";

export function SignInPage() {
  const { t } = useTranslation("auth");
  const { t: common } = useTranslation();
  const navigate = useNavigate();
  usePageTitle(t("title"));
  const { next } = useSearch({ from: "/login" });
  const done = async () => {
    queryClient.clear();
    await navigate({ href: next ?? "/" });
  };
  return (
    <main className="grid min-h-full place-items-center p-4">
      <div className="grid w-full max-w-sm gap-5 rounded-2xl border border-line bg-raised p-7 shadow-float">
        <div className="flex items-center gap-3">
          <span className="grid size-10 place-items-center rounded-xl bg-accent text-accent-text">
            <ChartNoAxesColumn className="size-5" aria-hidden />
          </span>
          <h1 className="text-lg font-semibold">
            {common("appName")} · {t("title")}
          </h1>
        </div>
        <SignInForm onDone={() => void done()} />
        <p className="text-xs text-muted">{t("linkHint")}</p>
      </div>
    </main>
  );
}
