import { Watched, useWatched } from "@/lib/watched";

type Theme = "system" | "light" | "dark";

const KEY = "nanobot-transcript.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const chosen = new Watched<Theme>(read());

export function startTheme(): void {
  dark.addEventListener("change", apply);
  apply();
}

export function setTheme(theme: Theme): void {
  chosen.set(theme);
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It lasts until the page is left.
  }
  apply();
}

export function useTheme(): Theme {
  return useWatched(chosen);
}

function apply(): void {
  const isDark = chosen.get() === "dark" || (chosen.get() === "system" && dark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  // Around the page, too: the bar above an installed one, and of some browsers.
  document.querySelector<HTMLMetaElement>("meta[name=theme-color]")?.setAttribute("content", isDark ? "#181c22" : "#ffffff");
}

function read(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}
