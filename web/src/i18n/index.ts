/** Two languages, the browser's by default; what the user chose is kept. */

import i18n from "i18next";
import { initReactI18next } from "react-i18next";

import { readStored, writeStored } from "@/lib/store";

export const LANGUAGES = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = "dataagent.language";

/**
 * A page loads the texts of its own language, and those of pages besides the chat when they open.
 */
const FIRST: Record<Language, () => Promise<object>> = {
  en: async () => (await import("./en/first")).first,
  zh: async () => (await import("./zh/first")).first,
};
const LATER: Record<Language, () => Promise<object>> = {
  en: async () => (await import("./en/later")).later,
  zh: async () => (await import("./zh/later")).later,
};

function preferred(): Language {
  const known = readStored(KEY) ?? navigator.language;
  return known.toLowerCase().startsWith("zh") ? "zh" : "en";
}

function tellPage(language: string): void {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

/** Call once, before the first rendering. */
export async function startI18n(): Promise<void> {
  i18n.on("languageChanged", tellPage);
  const language = preferred();
  const texts = await FIRST[language]();
  await i18n.use(initReactI18next).init({
    resources: { [language]: { ...texts } },
    lng: language,
    fallbackLng: false, // the compiler sees to it that no language lacks a text
    defaultNS: "common",
    ns: Object.keys(texts),
    interpolation: { escapeValue: false }, // React escapes
  });
}

/** The texts of the pages besides the chat, before one of them is shown. */
export async function loadLaterTexts(): Promise<void> {
  await put(i18n.language === "zh" ? "zh" : "en", LATER);
}

export async function setLanguage(language: Language): Promise<void> {
  await Promise.all([put(language, FIRST), put(language, LATER)]);
  writeStored(KEY, language);
  await i18n.changeLanguage(language);
}

async function put(language: Language, from: typeof FIRST): Promise<void> {
  for (const [namespace, texts] of Object.entries(await from[language]())) {
    i18n.addResourceBundle(language, namespace, texts);
  }
}
