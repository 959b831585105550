// An answer that one click gave: for a moment, before it is sent, it can be taken back.

/** Milliseconds. */
export const MOMENT = 4000;

export class Held {
  /** What it answers; empty when there is none. */
  id = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private over: () => void = () => undefined;

  constructor(private readonly deliver: (id: string) => void) {
    // Whoever looks elsewhere, or leaves, has answered.
    addEventListener("pagehide", () => this.send());
    document.addEventListener("visibilitychange", () => document.hidden && this.send());
  }

  /** Keeps an answer back; `over` is called once it cannot be taken back any more. One is kept at a time. */
  hold(id: string, over: () => void): void {
    this.send();
    this.id = id;
    this.over = over;
    this.timer = setTimeout(() => this.send(), MOMENT);
  }

  /** It is not kept any more, if it is this one's. */
  drop(id: string): void {
    if (!id || id !== this.id) return;
    clearTimeout(this.timer);
    this.id = "";
    this.over();
  }

  private send(): void {
    const { id } = this;
    this.drop(id);
    if (id) this.deliver(id);
  }
}
