// What somebody has begun to write, by what it belongs to. It outlives the view in which it is written, and it comes
// back when it could not be sent. Words and chosen options outlive a reload of the page, too; before files are lost with
// it, the browser asks.

import type { WireContent } from "@/lib/assistant/socket";
import { askBeforeLeaving, keep, kept } from "@/lib/tab";
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
const NAME = "answers";
const drafts = new Watched<ReadonlyMap<string, Draft>>(new Map());
drafts.watch(store);

/** Brings back what was being written before the page was loaded anew; once it is known with which token. */
export function startDrafts(): void {
  drafts.set(new Map(kept<Partial<Draft>>(NAME).map(([key, draft]) => [key, { ...EMPTY, ...draft }])));
  askBeforeLeaving(() => [...drafts.get().values()].some((draft) => draft.files.length));
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

/** Chooses options of a question, by the number of the choice. */
export function choose(question: string, index: number, labels: string[]): void {
  changeDraft(question, ({ chosen }) => ({ chosen: { ...chosen, [index]: labels } }));
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
    .map(([key, { text, chosen }]): [string, Partial<Draft>] => [key, { text, chosen }])
    .filter(([, { text = "", chosen = {} }]) => text.trim() || Object.values(chosen).some((labels) => labels.length));
  keep(NAME, written);
}
