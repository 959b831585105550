import type { LineState } from "@/lib/page";
import { type AnyPage, PAGES } from "@/pages";

/** By the name of its page. */
export type Lines = ReadonlyMap<string, LineState>;

/** What the pages tell that have a line of their own. */
export function useLines(): Lines {
  const lines = new Map<string, LineState>();
  for (const { name, line } of PAGES) if (line) lines.set(name, line.use()); // always the same hooks in the same order
  return lines;
}

export function hasLine(page: AnyPage): boolean {
  return page.line !== undefined;
}
