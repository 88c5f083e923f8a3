/** The frame of every page behind the login: the side bar, the page, and a login that has ended. */

import { Outlet, useRouterState } from "@tanstack/react-router";
import { Menu as MenuIcon } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { ErrorBoundary } from "@/components/ErrorBoundary";
import { IconButton } from "@/components/ui/Button";

import { SideBar } from "./SideBar";
import { SignInAgain } from "./SignInAgain";

export function Shell() {
  const { t } = useTranslation();
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  const address = useRouterState({ select: (state) => state.location.pathname });
  return (
    <div className="flex h-full">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:p-2">
        {t("skipToContent")}
      </a>
      <SideBar isOpen={isMenuOpen} onClose={() => setIsMenuOpen(false)} />
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="flex items-center gap-2 border-b border-line px-2 py-1.5 md:hidden">
          <IconButton icon={MenuIcon} label={t("openMenu")} onClick={() => setIsMenuOpen(true)} />
          <span className="font-semibold">{t("appName")}</span>
        </header>
        <main id="content" className="min-h-0 flex-1 overflow-y-auto">
          <ErrorBoundary key={address}>
            <Outlet />
          </ErrorBoundary>
        </main>
      </div>
      <SignInAgain />
    </div>
  );
}
