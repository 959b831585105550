// What somebody has begun to write, by what it belongs to. It outlives the view in which it is written, and it comes
// back when it could not be sent. Words and chosen options outlive a reload of the page, too.

import type { WireContent } from "@/lib/assistant/socket";
import { DRAFTS } from "@/lib/token";
import { Watched, useWatched } from "@/lib/watched";

export interface Attached {
  id: string;
  name: string;
  /** Bytes that it has in a frame. */
  size: number;
  content: WireContent;
  picture: string | undefined;
}

export interface Draft {
  text: string;
  files: readonly Attached[];
  /** Labels of the options that were chosen, by the number of the choice. */
  chosen: Readonly<Record<number, string[]>>;
  /** Why it could not be sent. */
  problem: string;
}

const EMPTY: Draft = { text: "", files: [], chosen: {}, problem: "" };
const drafts = new Watched<ReadonlyMap<string, Draft>>(new Map());
drafts.watch(store);

/** Brings back what was being written before the page was loaded anew; once it is known with which token. */
export function startDrafts(): void {
  drafts.set(stored());
}

/** The name of the draft of a message to an agent that has asked nothing; that of an answer has the question's id. */
export function unaskedTo(talk: string): string {
  return `unasked ${talk}`;
}

export function useDrafts(): (key: string) => Draft {
  const all = useWatched(drafts);
  return (key) => all.get(key) ?? EMPTY;
}

export function changeDraft(key: string, change: (draft: Draft) => Partial<Draft>): void {
  const before = drafts.get().get(key) ?? EMPTY;
  drafts.set(new Map(drafts.get()).set(key, { ...before, ...change(before) }));
}

/** The draft, which is not there any more after that. */
export function takeDraft(key: string): Draft {
  const all = new Map(drafts.get());
  const draft = all.get(key) ?? EMPTY;
  all.delete(key);
  drafts.set(all);
  return draft;
}

/** Brings a draft back, before what was written in its place meanwhile. */
export function restoreDraft(key: string, draft: Draft, problem = ""): void {
  changeDraft(key, (now) => ({
    text: [draft.text, now.text].filter((each) => each.trim()).join("\n\n"),
    files: [...draft.files, ...now.files],
    chosen: { ...draft.chosen, ...now.chosen },
    problem,
  }));
}

/** Whether there is something that would be missed. */
export function hasWords(draft: Draft): boolean {
  return draft.text.trim() !== "" || draft.files.length > 0;
}

function store(): void {
  const written = [...drafts.get()]
    .map(([key, { text, chosen }]) => [key, { text, chosen }] as const)
    .filter(([, { text, chosen }]) => text.trim() || Object.values(chosen).some((labels) => labels.length));
  try {
    if (written.length) sessionStorage.setItem(DRAFTS, JSON.stringify(written));
    else sessionStorage.removeItem(DRAFTS);
  } catch {
    // Without storage, or in a full one, they last as long as the page.
  }
}

function stored(): Map<string, Draft> {
  try {
    const written = JSON.parse(sessionStorage.getItem(DRAFTS) ?? "[]") as [string, Pick<Draft, "text" | "chosen">][];
    return new Map(written.map(([key, draft]) => [key, { ...EMPTY, ...draft }]));
  } catch {
    return new Map();
  }
}
