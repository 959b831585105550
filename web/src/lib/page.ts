// What a page says of itself; pages/index.ts lists those that there are.

import type { ReactNode } from "react";

/** What `words.ts` of a page has: the same keys in both languages. */
export interface Words {
  readonly en: Readonly<Record<string, string>>;
  readonly zh: Readonly<Record<string, string>>;
}

export interface Page<W extends Words = Words> {
  /** As the hub calls it, and the beginning of its addresses. */
  name: string;
  /** Words of all pages stand side by side: their keys differ. */
  words: W;
  /** The keys of its name, and of what is on it. */
  title: keyof W["en"] & string;
  about: keyof W["en"] & string;
  icon: ReactNode;
  /** `place` is the rest of its address. */
  show: (place: string[]) => ReactNode;
  /** Where the hub lists what is on it, and the field of that; a page that has none never opens by itself. */
  listed?: { path: string; field: string };
}
