// What agents ask and what people answer, as this page knows it. It is the same for all views of the page.

import { takeDraft } from "@/lib/assistant/drafts";
import { MOMENT } from "@/lib/assistant/held";
import { Histories } from "@/lib/assistant/histories";
import { type Item, type Kind, SENDING, type Talk, ofMessage, ofRecord, ofRequest } from "@/lib/assistant/items";
import { type Sending, Sendings, WRITTEN } from "@/lib/assistant/sendings";
import { type Frame, Socket, type WireContent, type WireRecord, type WireRequest } from "@/lib/assistant/socket";
import { Shown, type State } from "@/lib/assistant/state";
import { askBeforeLeaving } from "@/lib/tab";
import { onceKey } from "@/lib/utils";
import { useWatched } from "@/lib/watched";

const COMES_AGAIN = 5000;
/** How many hits of a search are shown. */
const HITS = 100;
/** Milliseconds: within the first of them an answer has arrived, where all is well. */
const SOONEST = 100;
const LATEST = 15_000;
const NAME = "nanobot-transcript.nickname";

class AssistantStore {
  readonly shown = new Shown();
  private readonly sending = new Sendings((id) => this.deliver(id));
  private readonly histories = new Histories((frame) => this.shown.get().open && (this.socket?.send(frame) ?? false));
  private socket: Socket | undefined;
  private searching = "";
  private asked: (item: Item) => void = () => undefined;
  /** Of what has been asked, what this page was told of; the history, which may come first, is none of that. */
  private readonly announced = new Set<string>();
  private asking: ReturnType<typeof setTimeout> | undefined;
  /** Whether this line has been asked for everything; somebody who changes their name logs in once more. */
  private listed = false;
  private troubled = false;

  /** `asked` is told of each question and report that arrives from now on. */
  start(asked: (item: Item) => void): void {
    this.asked = asked;
    if (this.socket) return;
    this.sending.restore();
    this.shown.put([...this.sending.values()].map((each) => this.onItsWay(each)));
    askBeforeLeaving(() => this.sending.haveFiles());
    this.socket = new Socket(
      () => this.nickname(),
      (frame) => this.heard(frame),
      (open) => this.became(open),
      () => this.tooMuch(),
    );
  }

  nickname(): string {
    try {
      return localStorage.getItem(NAME) ?? "";
    } catch {
      return "";
    }
  }

  /** Under what name others see this person's answers. */
  setNickname(name: string): void {
    try {
      localStorage.setItem(NAME, name.trim());
    } catch {
      return; // Without storage there is no name.
    }
    this.socket?.login();
  }

  /** Sends an answer. Its draft comes back where it does not count. */
  answer(item: Item, contents: WireContent[]): void {
    this.giving(item, contents);
    this.deliver(item.id);
  }

  /**
   * Sends an answer in a moment, and until then, when `over` is called, it can be taken back. False where the agent does
   * not wait that long: it is sent at once.
   */
  answerSoon(item: Item, contents: WireContent[], over: () => void): boolean {
    if (item.asked + item.timeout * 1000 - this.hubNow() < 3 * MOMENT) {
      this.answer(item, contents);
      return false;
    }
    this.giving(item, contents);
    this.sending.held.hold(item.id, over);
    return true;
  }

  /** What the answer that can still be taken back had answered; it waits again. */
  takeBack(): Item | undefined {
    const said = this.sending.get(this.sending.held.id);
    if (!said) return undefined;
    this.sending.delete(said.item.id);
    this.shown.put([said.item]);
    return said.item;
  }

  /** Writes to an agent that has asked nothing what stands in a draft; false when the line is broken. */
  write(talk: Talk, draftOf: string, text: string, contents: WireContent[]): boolean {
    const { project, agent } = talk;
    const message = { id: onceKey(), projectDirectory: project, agentName: agent, text, contents };
    const frame = { Cmd: WRITTEN, AgentMessage: message };
    if (!this.socket?.send(frame)) return false;
    const item: Item = { ...ofMessage(message), asked: this.hubNow() };
    this.sending.set(message.id, { frame, draft: takeDraft(draftOf), contents, item });
    this.shown.put([this.onItsWay({ contents, item })]);
    this.socket.check([]); // it stays on its way where nothing comes back
    return true;
  }

  loadOlder(): void {
    const { older } = this.shown.get();
    if (older > 0n) this.histories.ask("older", { before: older }, (records, next) => this.took(records, { older: next }));
  }

  loadOlderOf(talk: Talk, limit = 50): void {
    const { olderOf, older } = this.shown.get();
    const first = talk.items.find((item) => item.seq > 0n)?.seq;
    const before = olderOf.get(talk.key) ?? first ?? older;
    const request = { projectDirectory: talk.project, agentName: talk.agent, before, limit };
    this.histories.ask(`older ${talk.key}`, request, (records, next) => {
      this.took(records, { olderOf: new Map(this.shown.get().olderOf).set(talk.key, next) });
    });
  }

  search(text: string): void {
    this.searching = text;
    this.histories.drop("search");
    this.shown.change({ found: undefined });
    if (text) this.find(text, [], 0n);
  }

  /** The hub ends a page early where much was said: it is asked on until there are enough. Hits show words alone. */
  private find(text: string, before: readonly Item[], from: bigint): void {
    const request = { text, before: from, limit: HITS - before.length, wordsOnly: true };
    this.histories.ask("search", request, (records, next) => {
      if (text !== this.searching) return;
      const found = [...before, ...records.map(ofRecord)];
      this.shown.change({ found });
      if (next > 0n && found.length < HITS) this.find(text, found, next);
    });
  }

  /** From now on this is the answer, as far as this page knows. */
  private giving(item: Item, contents: WireContent[]): void {
    const request = { ID: item.id } as WireRequest;
    const response = { ID: item.id, IsError: false, contents };
    const frame: Frame =
      item.kind === "question"
        ? { Cmd: "AskQuestionReply", AskQuestionRequest: request, AskQuestionResponse: response }
        : { Cmd: "WorkReportReply", WorkReportRequest: request, WorkReportResponse: response };
    this.sending.set(item.id, { frame, draft: takeDraft(item.id), contents, item });
    this.shown.put([this.onItsWay({ contents, item })]);
  }

  private deliver(id: string): void {
    const said = this.sending.get(id);
    if (said) this.socket?.send(said.frame);
    this.askWhetherArrived();
  }

  /** What is answered or written, as it is shown meanwhile. */
  private onItsWay({ contents, item }: Pick<Sending, "contents" | "item">): Item {
    return { ...item, state: SENDING, by: this.shown.get().called, contents, ended: this.hubNow() };
  }

  /** What the clock of the hub says; this browser's own where the hub has not told. */
  private hubNow(): number {
    return Date.now() - this.shown.get().ahead;
  }

  private became(open: boolean): void {
    if (!open) {
      this.listed = false;
      this.histories.clear();
    }
    this.shown.change({ open });
  }

  private heard(frame: Frame): void {
    switch (frame.Cmd) {
      case "UserLogin":
        return this.loggedIn(frame);
      case "AskQuestion":
      case "WorkReport":
      case "TaskFinish":
        return this.taken(frame.AskQuestionRequest ?? frame.WorkReportRequest, frame.AskQuestionRequest ? "question" : "report");
      case "RequestCancelled": {
        const { requestId = "", reason = "" } = frame.RequestCancelledNotification ?? {};
        return this.end(requestId, { state: reason, contents: [], by: "" });
      }
      case WRITTEN:
        if (!frame.AgentMessage) return;
        this.sending.delete(frame.AgentMessage.id ?? "");
        return this.shown.put([ofMessage(frame.AgentMessage)]);
      case "GetHistory":
        if (!this.troubled) this.socket?.steady();
        this.shown.change({ problem: "" });
        return this.histories.answered(frame);
      case "CheckMessageValidity":
        return this.askWhatCounted(Object.entries(frame.CheckMessageValidityResponse?.validity ?? {}));
      case "Error":
        return this.refused(frame.ErrorNotification?.cmd ?? "", frame.ErrorNotification?.message ?? "");
      default:
        if (!frame.Cmd.endsWith("ReplyNotification")) return;
        const response = frame.AskQuestionResponse ?? frame.WorkReportResponse;
        const id = (frame.AskQuestionRequest ?? frame.WorkReportRequest)?.ID ?? response?.ID ?? "";
        const state = response?.IsError ? "refused" : "answered";
        this.end(id, { state, by: frame.Nickname ?? "", contents: response?.contents ?? [] });
    }
  }

  private loggedIn(frame: Frame): void {
    const { success = false, errorMessage = "", serverTime = 0n } = frame.UserLoginResponse ?? {};
    if (serverTime) this.shown.change({ ahead: Date.now() - Number(serverTime) });
    this.shown.change({ refused: success ? "" : errorMessage || "?", called: frame.Nickname ?? "" });
    if (!success || this.listed) return;
    this.listed = true;
    this.troubled = false;
    // The line broke before these came through; with the same id they are kept once.
    for (const written of this.sending.messages()) this.socket?.send(written);
    this.histories.ask("all", {}, (records, next) => this.took(records, { older: next, known: true }));
    if (this.searching) this.search(this.searching); // its answer may have been lost with the line before
    this.askWhetherArrived();
  }

  /** The hub says nothing of an answer that counts to whoever gave it. */
  private askWhetherArrived(after = SOONEST): void {
    clearTimeout(this.asking);
    this.asking = setTimeout(() => {
      const ids = this.sending.answers();
      if (!ids.length) return;
      this.socket?.check(ids);
      this.askWhetherArrived(Math.min(after * 2, LATEST));
    }, after);
  }

  /** The hub cannot do what a frame said. Which of several of one kind it was it does not say: none of them counts. */
  private refused(command: string, problem: string): void {
    if (command === "CheckMessageValidity") return;
    if (command === "GetHistory" || !command) this.histories.failed();
    if (command === "UserLogin") {
      this.troubled = true; // the page came in, and was not told what waits; it tries that again after a while
      setTimeout(() => this.troubled && this.socket?.restart(), COMES_AGAIN);
    }
    const lost = this.sending.sentWith(command);
    for (const id of lost) this.bringBack(id, problem);
    if (!lost.length) this.shown.change({ problem });
  }

  /** The hub ended the line because of a frame. It would do so again: the largest one is not sent once more. */
  private tooMuch(): void {
    const largest = this.sending.largest();
    if (largest !== undefined) this.bringBack(largest, "tooMuch");
  }

  /** What was not sent waits again, or is not there any more. */
  private bringBack(id: string, problem: string): void {
    const lost = this.sending.bringBack(id, problem);
    if (!lost) return;
    if (lost.frame.Cmd === WRITTEN) this.shown.remove(id);
    else this.shown.put([lost.item]);
  }

  private taken(request: WireRequest | undefined, kind: Kind): void {
    if (!request) return;
    const item = ofRequest(request, kind);
    const said = this.sending.get(item.id);
    if (said) {
      // The line broke before the answer came through: it is said again.
      if (this.sending.held.id !== item.id) this.socket?.send(said.frame);
      return;
    }
    this.shown.put([{ ...item, seq: this.shown.item(item.id)?.seq ?? 0n }]);
    if (this.announced.has(item.id)) return;
    this.announced.add(item.id);
    this.asked(item);
  }

  /** What waits no more was answered by this page or ended otherwise: the hub's record of it says that. */
  private askWhatCounted(validity: readonly (readonly [string, boolean])[]): void {
    const { sending } = this;
    const ids = validity.filter(([id, waits]) => !waits && sending.has(id)).map(([id]) => id);
    if (!ids.length) return;
    this.histories.ask(`counted ${ids.join()}`, { ids, wordsOnly: true }, (records) => {
      const ended = new Map(records.map(ofRecord).map((item) => [item.id, item]));
      const others = ids.filter((id) => sending.has(id) && !sending.isOwn(id, ended.get(id)));
      for (const id of ids.filter((id) => sending.has(id) && !others.includes(id))) this.counted(id);
      for (const id of others.filter((id) => !ended.has(id))) this.end(id, { state: "cancelled", by: "", contents: [] });
      const elsewhere = others.filter((id) => ended.has(id));
      if (!elsewhere.length) return;
      this.histories.ask(`ended ${elsewhere.join()}`, { ids: elsewhere }, (found) => this.took(found, {}));
    });
  }

  /** What this page answered counts. */
  private counted(id: string): void {
    const said = this.shown.item(id);
    this.sending.delete(id);
    if (said?.state === SENDING) this.shown.put([{ ...said, state: "answered" }]);
  }

  private end(id: string, ending: Pick<Item, "state" | "by" | "contents">): void {
    const item = this.shown.item(id);
    this.sending.arrived(id, ending.contents);
    if (item) this.shown.put([{ ...item, ...ending, ended: this.hubNow() }]);
  }

  private took(records: readonly WireRecord[], next: Partial<State>): void {
    const found = records.map(ofRecord);
    const ended = found.filter((item) => item.kind !== "message" && item.state !== "waiting");
    for (const item of ended) this.sending.arrived(item.id, item.contents);
    this.shown.change(next);
    this.shown.put(found.filter((item) => !this.sending.has(item.id) && !this.shown.isOutdated(item)));
  }
}

export const assistant = new AssistantStore();

export function useAssistant(): State {
  return useWatched(assistant.shown);
}
