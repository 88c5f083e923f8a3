/** The account's menu: settings, language, appearance, the way out. */

import { useNavigate } from "@tanstack/react-router";
import { CircleUser, LogOut, Settings } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api, call } from "@/api/client";
import { queryClient, useMe } from "@/api/queries";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "@/components/ui/Menu";
import { toast } from "@/components/ui/toast";
import { LANGUAGES, setLanguage, type Language } from "@/i18n";
import { setTheme, THEMES, useTheme } from "@/lib/theme";

interface UserMenuProps {
  /** Another page was chosen. */
  onLeave: () => void;
}

export function UserMenu({ onLeave }: UserMenuProps) {
  const { t, i18n } = useTranslation();
  const me = useMe();
  const navigate = useNavigate();
  const theme = useTheme();
  const signOut = async () => {
    try {
      await call(api.POST("/api/auth/logout"));
    } catch {
      toast(t("signOutFailed"), { tone: "danger" });
      return;
    }
    queryClient.clear();
    await navigate({ to: "/login" });
  };
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="flex w-full items-center gap-2.5 rounded-lg px-2.5 py-2 text-left text-sm hover:bg-line/60"
        >
          <CircleUser className="size-5 text-muted" aria-hidden />
          <span className="min-w-0 flex-1 truncate">{me?.username ?? t("account")}</span>
        </button>
      }
    >
      <MenuItem
        icon={Settings}
        onSelect={() => {
          onLeave();
          void navigate({ to: "/settings" });
        }}
      >
        {t("settings")}
      </MenuItem>
      <MenuSeparator />
      <MenuLabel>{t("language")}</MenuLabel>
      {(Object.keys(LANGUAGES) as Language[]).map((language) => (
        <MenuItem
          key={language}
          isChecked={i18n.language === language}
          onSelect={() => void setLanguage(language)}
        >
          {LANGUAGES[language]}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuLabel>{t("theme")}</MenuLabel>
      {THEMES.map((each) => (
        <MenuItem key={each} isChecked={theme === each} onSelect={() => setTheme(each)}>
          {t(`themes.${each}`)}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon={LogOut} onSelect={() => void signOut()}>
        {t("signOut")}
      </MenuItem>
    </Menu>
  );
}
