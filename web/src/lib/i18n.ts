// The words of the pages in the language that somebody chose. Of `one|many` the first is for n = 1.

import { useCallback } from "react";
import type { Page } from "@/lib/page";
import { Watched, useWatched } from "@/lib/watched";
import type { AnyPage, PAGES } from "@/pages";
import * as common from "@/words/common";
import * as letters from "@/words/letters";
import * as start from "@/words/start";

type Common = keyof typeof common.en | keyof typeof letters.en | keyof typeof start.en;
type OfPage<P> = P extends Page<infer W> ? keyof W["en"] : never;

export type Key = Common | OfPage<AnyPage>;
export type Language = "en" | "zh";

/** Whole once the pages have brought theirs. */
const words = {
  en: { ...common.en, ...letters.en, ...start.en },
  zh: { ...common.zh, ...letters.zh, ...start.zh },
} as Record<Language, Record<Key, string>>;

/** Takes in the words of the pages, which are not imported here: all of them import this module. */
export function startWords(pages: typeof PAGES): void {
  for (const page of pages) {
    Object.assign(words.en, page.words.en);
    Object.assign(words.zh, page.words.zh);
  }
}

const STORED = "nanobot-transcript.language";
const chosen = new Watched<Language>(read());
mark(chosen.get());

export function useLanguage(): Language {
  return useWatched(chosen);
}

export function setLanguage(language: Language): void {
  mark(language);
  try {
    localStorage.setItem(STORED, language);
  } catch {
    // It lasts until the page is left.
  }
  chosen.set(language);
}

/** The words of a key, numbers in them as the language writes them. Of `one|many` the first is for n = 1. */
export type T = (key: Key, values?: Record<string, string | number>) => string;

export function useT(): T {
  const language = useLanguage();
  return useCallback<T>(
    (key, values = {}) => {
      const [one = "", many] = words[language][key].split("|");
      const text = many === undefined || values["n"] === 1 ? one : many;
      return text.replace(/\{(\w+)\}/g, (_, name: string) => values[name]?.toLocaleString(language) ?? "");
    },
    [language],
  );
}

/** Names one after the other, as the language does it. */
export function listed(names: readonly string[], language: Language): string {
  return names.join(language === "zh" ? "、" : ", ");
}

export function isKey(text: string): text is Key {
  return Object.hasOwn(words.en, text);
}

/** The document says in what language it is: browsers choose fonts and voices by it. */
function mark(language: Language): void {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

function read(): Language {
  try {
    const kept = localStorage.getItem(STORED);
    if (kept === "en" || kept === "zh") return kept;
  } catch {
    // The browser's language decides.
  }
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}
