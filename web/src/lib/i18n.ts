// The words of the pages in the language that somebody chose. Of `one|many` the first is for n = 1.

import { useCallback } from "react";
import { Watched, useWatched } from "@/lib/watched";
import * as boxes from "@/words/boxes";
import * as common from "@/words/common";
import * as groups from "@/words/groups";
import * as io from "@/words/io";
import * as letters from "@/words/letters";
import * as mail from "@/words/mail";
import * as questions from "@/words/questions";
import * as start from "@/words/start";
import * as statistics from "@/words/statistics";
import * as system from "@/words/system";

const en = {
  ...common.en,
  ...groups.en,
  ...questions.en,
  ...letters.en,
  ...mail.en,
  ...boxes.en,
  ...io.en,
  ...start.en,
  ...statistics.en,
  ...system.en,
};

export type Key = keyof typeof en;
export type Language = "en" | "zh";

const zh: Record<Key, string> = {
  ...common.zh,
  ...groups.zh,
  ...questions.zh,
  ...letters.zh,
  ...mail.zh,
  ...boxes.zh,
  ...io.zh,
  ...start.zh,
  ...statistics.zh,
  ...system.zh,
};

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
      const [one = "", many] = (language === "zh" ? zh : en)[key].split("|");
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
  return Object.hasOwn(en, text);
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
