// What the page shows of what agents ask and people answer.

import type { Item, Talk } from "@/lib/assistant/items";
import { Watched } from "@/lib/watched";

export interface State {
  items: ReadonlyMap<string, Item>;
  open: boolean;
  /** How the hub calls this person: by their own name, or by one that it has made. */
  called: string;
  /** Milliseconds that this browser's clock is ahead of the hub's, which says when things were asked. */
  ahead: number;
  /** Whether the hub has said what there is. */
  known: boolean;
  refused: string;
  problem: string;
  /** Where earlier records begin, of all conversations and of one; 0 when there are none. */
  older: bigint;
  olderOf: ReadonlyMap<string, bigint>;
  found: readonly Item[] | undefined;
}

const NOTHING: State = {
  items: new Map(),
  open: false,
  called: "",
  ahead: 0,
  known: false,
  refused: "",
  problem: "",
  older: 0n,
  olderOf: new Map(),
  found: undefined,
};

/** The state as views follow it; every change makes another one. */
export class Shown extends Watched<State> {
  constructor() {
    super(NOTHING);
  }

  item(id: string): Item | undefined {
    return this.get().items.get(id);
  }

  change(next: Partial<State>): void {
    this.set({ ...this.get(), ...next });
  }

  put(items: Item[]): void {
    const all = new Map(this.get().items);
    for (const item of items) all.set(item.id, item);
    this.change({ items: all });
  }

  remove(id: string): void {
    const items = new Map(this.get().items);
    items.delete(id);
    this.change({ items });
  }

  /** The hub may have read a record before something ended, and send it after the page was told of the end. */
  isOutdated({ id, state: then }: Item): boolean {
    const now = this.item(id)?.state;
    return then === "waiting" && now !== undefined && now !== then;
  }
}

/** Whether a conversation has more than what is shown of it. */
export function hasOlder(talk: Talk, state: State): boolean {
  return olderFrom(talk, state) > 0n;
}

/** Before what the rest of a conversation is looked for. */
export function olderFrom(talk: Talk, { older, olderOf }: State): bigint {
  return olderOf.get(talk.key) ?? older;
}
