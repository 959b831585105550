// What somebody has begun to write, by the place that it belongs to. It outlives the view in which it is written, and
// a reload of the page.

import { keep, kept } from "@/lib/tab";
import { onceKey } from "@/lib/utils";
import { Watched, useWatched } from "@/lib/watched";

interface Kept {
  fields: object;
  key: string;
}

export interface Drafting<T> {
  draft: T;
  /** The same as long as the draft is: after a failure nobody knows whether it arrived, and it is sent again under it. */
  key: string;
  change: (fields: Partial<T>) => void;
  /** Forgets the draft that was sent, unless something else is being written there already. */
  done: () => void;
}

const NAME = "drafts";
const drafts = new Watched<ReadonlyMap<string, Kept>>(new Map());
drafts.watch(() => keep(NAME, [...drafts.get()]));

/** Brings back what was being written before the page was loaded anew; once it is known with which token. */
export function startDrafts(): void {
  drafts.set(new Map(kept<Kept>(NAME)));
}

/** The fields of what is being written at a place; several views may each have some of them. */
export function useDraft<T extends object>(place: string, empty: T): Drafting<T> {
  const kept = useWatched(drafts).get(place);
  const key = kept?.key ?? "";
  return {
    draft: { ...empty, ...kept?.fields },
    key,
    change: (fields) => changeDraft(place, fields),
    done: () => {
      if (drafts.get().get(place)?.key === key) put(place, undefined);
    },
  };
}

/** What `change` of `useDraft` does, for who does not follow the draft. */
export function changeDraft(place: string, fields: object): void {
  put(place, { fields: { ...drafts.get().get(place)?.fields, ...fields }, key: onceKey() });
}

function put(place: string, kept: Kept | undefined): void {
  const all = new Map(drafts.get());
  if (kept) all.set(place, kept);
  else all.delete(place);
  drafts.set(all);
}
