/** Language and appearance of this browser. */

import { useTranslation } from "react-i18next";

import { Field, Select } from "@/components/ui/Field";
import { Card } from "@/components/ui/Page";
import { LANGUAGES, setLanguage, type Language } from "@/i18n";
import { setTheme, THEMES, useTheme } from "@/lib/theme";

export function ViewSettings() {
  const { t } = useTranslation("settings");
  const { t: common, i18n } = useTranslation();
  const theme = useTheme();
  return (
    <Card title={t("view")}>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={common("language")}>
          {(control) => (
            <Select
              {...control}
              value={i18n.language}
              onChange={(event) => void setLanguage(event.target.value === "zh" ? "zh" : "en")}
            >
              {(Object.keys(LANGUAGES) as Language[]).map((language) => (
                <option key={language} value={language}>
                  {LANGUAGES[language]}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={common("theme")}>
          {(control) => (
            <Select
              {...control}
              value={theme}
              onChange={(event) =>
                setTheme(THEMES.find((each) => each === event.target.value) ?? "system")
              }
            >
              {THEMES.map((each) => (
                <option key={each} value={each}>
                  {common(`themes.${each}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
    </Card>
  );
}
