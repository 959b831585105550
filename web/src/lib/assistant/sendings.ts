// What is on its way to the hub: answers and messages of which nobody has said yet that they arrived.

import { type Draft, hasWords, restoreDraft, unaskedTo } from "@/lib/assistant/drafts";
import { Held } from "@/lib/assistant/held";
import { type Item, talkKey } from "@/lib/assistant/items";
import type { Frame, WireContent } from "@/lib/assistant/socket";
import { keep, kept } from "@/lib/tab";

/** Something on its way to the hub. */
export interface Sending {
  frame: Frame;
  draft: Draft;
  contents: WireContent[];
  /** What it answers, as it was before, or the message itself. */
  item: Item;
}

/** The command of a message to an agent that has asked nothing; all others are answers. */
export const WRITTEN = "AgentMessage";

const NAME = "on-its-way";

/** By the id of what is answered or written. Those without files outlive a reload of the page. */
export class Sendings extends Map<string, Sending> {
  /** The answer among them that can still be taken back. */
  readonly held: Held;

  /** `deliver` sends the answer that was held once its moment is over. */
  constructor(deliver: (id: string) => void) {
    super();
    this.held = new Held(deliver);
  }

  override set(id: string, each: Sending): this {
    super.set(id, each);
    this.store();
    return this;
  }

  override delete(id: string): boolean {
    this.held.drop(id);
    const was = super.delete(id);
    this.store();
    return was;
  }

  /** What was on its way when the page was loaded anew. */
  restore(): void {
    for (const [id, each] of kept<Sending>(NAME)) super.set(id, { ...each, item: { ...each.item, seq: 0n } });
  }

  haveFiles(): boolean {
    return [...this.values()].some(({ draft }) => draft.files.length);
  }

  messages(): Frame[] {
    return [...this.values()].map(({ frame }) => frame).filter((frame) => frame.Cmd === WRITTEN);
  }

  /** The ids of answers that were sent. */
  answers(): string[] {
    return this.sent((frame) => frame.Cmd !== WRITTEN);
  }

  /** The ids of what was sent with a command; of all that was sent where it is empty. */
  sentWith(command: string): string[] {
    return this.sent((frame) => !command || frame.Cmd === command);
  }

  /** The id of what takes the most room in a frame. */
  largest(): string | undefined {
    const size = (each: Sending) => each.draft.files.reduce((sum, file) => sum + file.size, each.draft.text.length);
    const [largest] = [...this].sort(([, one], [, other]) => size(other) - size(one));
    return largest?.[0];
  }

  /** Whether a record has the words that this page has sent; where there are none, the whole of it has to tell. */
  isOwn(id: string, record: Item | undefined): boolean {
    const words = wordsOf(this.get(id)?.contents ?? []);
    return words !== "" && record?.state === "answered" && words === wordsOf(record.contents);
  }

  /** Something has ended with these contents; what this page said instead is kept. */
  arrived(id: string, contents: readonly WireContent[]): void {
    const said = this.get(id);
    if (!said) return;
    this.delete(id);
    if (textOf(said.contents) !== textOf(contents) && hasWords(said.draft)) restoreDraft(id, said.draft);
  }

  /** Shows the draft again of what was not sent, which is returned. */
  bringBack(id: string, problem: string): Sending | undefined {
    const lost = this.get(id);
    if (!lost) return undefined;
    this.delete(id);
    restoreDraft(lost.frame.Cmd === WRITTEN ? unaskedTo(talkKey(lost.item)) : id, lost.draft, problem);
    return lost;
  }

  /** What is held has not been sent. */
  private sent(isMeant: (frame: Frame) => boolean): string[] {
    return [...this].filter(([id, { frame }]) => id !== this.held.id && isMeant(frame)).map(([id]) => id);
  }

  private store(): void {
    const words = [...this].filter(([, { draft }]) => !draft.files.length);
    keep(
      NAME,
      words.map(([id, each]) => [id, { ...each, item: { ...each.item, seq: 0 } }]),
    );
  }
}

function wordsOf(contents: readonly WireContent[]): string {
  return contents.map((each) => each.text?.text ?? "").join("").replace(/\s/g, "");
}

function textOf(contents: readonly WireContent[]): string {
  return contents.map((each) => each.text?.text.trim() ?? each.type).join("\n");
}
