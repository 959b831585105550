import { useSyncExternalStore } from "react";

type Theme = "system" | "light" | "dark";

const KEY = "nanobot-transcript.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();
let chosen: Theme = read();

export function startTheme(): void {
  dark.addEventListener("change", apply);
  apply();
}

export function setTheme(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It lasts until the page is left.
  }
  apply();
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    () => chosen,
  );
}

function apply(): void {
  const isDark = chosen === "dark" || (chosen === "system" && dark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  for (const watcher of watchers) watcher();
}

function read(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}
