// Which messages were written on this page: a bot sent them, and the record knows only the bot.

import { Watched, useWatched } from "@/lib/watched";

const KEY = "nanobot-transcript.posted";
const MOST = 500;

const posted = new Watched<readonly string[]>(read());

export function useWrittenHere(): (id: string | null) => boolean {
  const ids = useWatched(posted);
  return (id) => id !== null && ids.includes(id);
}

export function writtenHere(id: string): void {
  if (posted.get().includes(id)) return;
  posted.set([...posted.get(), id].slice(-MOST));
  try {
    localStorage.setItem(KEY, JSON.stringify(posted.get()));
  } catch {
    // It lasts until the page is left.
  }
}

function read(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}
