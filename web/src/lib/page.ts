// What a page says of itself; pages/index.ts lists those that there are.

import type { ReactNode } from "react";
import type { Connection } from "@/lib/events";

/** What `words.ts` of a page has: the same keys in both languages. */
export interface Words {
  readonly en: Readonly<Record<string, string>>;
  readonly zh: Readonly<Record<string, string>>;
}

type KeyOf<W extends Words> = keyof W["en"] & string;

export interface Page<W extends Words = Words> {
  /** As the hub calls it, and the beginning of its addresses. */
  name: string;
  /** Words of all pages stand side by side: their keys differ. */
  words: W;
  /** The keys of its name, and of what is on it. */
  title: KeyOf<W>;
  about: KeyOf<W>;
  icon: ReactNode;
  /** `place` is the rest of its address. */
  show: (place: string[]) => ReactNode;
  /** Where the hub lists what is on it, and the field of that; a page with neither this nor a line never opens by itself. */
  listed?: { path: string; field: string };
  /** How people get something onto it, which is said while there is nothing on any page. */
  start?: Start<W>;
  /** The keys of the keyboard that only it knows, as the help shows them, and what they do. */
  keys?: readonly (readonly [string, KeyOf<W>])[];
  /** Only where it has a line of its own to the hub, and needs no news. */
  line?: Line;
}

export interface Start<W extends Words = Words> {
  title: KeyOf<W>;
  steps: readonly { text: KeyOf<W>; command: string }[];
  /** What is good to know besides. */
  more?: KeyOf<W>;
}

/** A line to the hub that is open whichever page is shown. A token may open such a page and no other. */
export interface Line {
  /** Opens it, where that has not been done yet. */
  start: () => void;
  /** A hook. */
  use: () => LineState;
}

export interface LineState {
  connection: Connection;
  /** Whether the hub takes no such line with this token. */
  refused: boolean;
  /** Whether the hub has said what there is. */
  known: boolean;
  /** How much there is on the page, and how much of it waits for a person: the bare address leads there first. */
  count: number;
  waiting: number;
}
