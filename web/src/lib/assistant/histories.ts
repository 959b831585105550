// Asks for pages of the history: one at a time, as the answers do not say what they answer, and after a failure not again
// at once.

import type { Frame, WireRecord } from "@/lib/assistant/socket";

type Request = NonNullable<Frame["GetHistoryRequest"]>;
type Take = (records: readonly WireRecord[], next: bigint) => void;

const SHORTEST = 2000;
const LONGEST = 60_000;

export class Histories {
  private readonly wanted = new Map<string, { request: Request; take: Take }>();
  private running = "";
  private pause = SHORTEST;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly send: (frame: Frame) => boolean) {}

  /** What was asked for under this name before, and is not on its way yet, is not wanted any more. */
  ask(name: string, request: Partial<Request>, take: Take): void {
    this.wanted.delete(name === this.running ? "" : name);
    this.wanted.set(name === this.running ? `${name} again` : name, {
      request: { text: "", before: 0n, limit: 100, ids: [], wordsOnly: false, ...request },
      take,
    });
    this.next();
  }

  drop(name: string): void {
    for (const each of [name, `${name} again`]) if (each !== this.running) this.wanted.delete(each);
  }

  answered(frame: Frame): void {
    const asked = this.wanted.get(this.running);
    this.wanted.delete(this.running);
    this.running = "";
    this.pause = SHORTEST;
    asked?.take(frame.GetHistoryResponse?.records ?? [], frame.GetHistoryResponse?.nextBefore ?? 0n);
    this.next();
  }

  failed(): void {
    if (!this.running) return;
    this.running = "";
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.next();
    }, this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST);
  }

  /** On a new line nothing is on its way. */
  clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.wanted.clear();
    this.running = "";
  }

  private next(): void {
    const [first] = this.wanted;
    if (this.running || this.timer || !first) return;
    const [name, { request }] = first;
    if (this.send({ Cmd: "GetHistory", GetHistoryRequest: request })) this.running = name;
  }
}
