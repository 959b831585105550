// What agents ask and what people answer, as this page knows it. It is the same for all views of the page.

import { type Draft, hasWords, restoreDraft, takeDraft, unaskedTo } from "@/lib/assistant/drafts";
import { Held, MOMENT } from "@/lib/assistant/held";
import { Histories } from "@/lib/assistant/histories";
import { type Item, type Kind, SENDING, type Talk, ofMessage, ofRecord, ofRequest, talkKey } from "@/lib/assistant/items";
import { type Frame, Socket, type WireContent, type WireRecord, type WireRequest } from "@/lib/assistant/socket";
import { askBeforeLeaving, keep, kept } from "@/lib/tab";
import { onceKey } from "@/lib/utils";
import { Watched, useWatched } from "@/lib/watched";

interface State {
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

/** Something on its way to the hub. */
interface Sending {
  frame: Frame;
  draft: Draft;
  contents: WireContent[];
  /** What it answers, as it was before, or the message itself. */
  item: Item;
}

const ON_ITS_WAY = "on-its-way";
const COMES_AGAIN = 5000;
/** How many hits of a search are shown. */
const HITS = 100;
/** Milliseconds: within the first of them an answer has arrived, where all is well. */
const SOONEST = 100;
const LATEST = 15_000;
const WRITTEN = "AgentMessage";
const NAME = "nanobot-transcript.nickname";
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

/**
 * Answers and messages of which nobody has said yet that they arrived, by the id of what is answered or written. Those
 * without files outlive a reload of the page.
 */
class Sendings extends Map<string, Sending> {
  override set(id: string, each: Sending): this {
    super.set(id, each);
    this.store();
    return this;
  }

  override delete(id: string): boolean {
    held.drop(id);
    const was = super.delete(id);
    this.store();
    return was;
  }

  /** What was on its way when the page was loaded anew. */
  restore(): void {
    for (const [id, each] of kept<Sending>(ON_ITS_WAY)) super.set(id, { ...each, item: { ...each.item, seq: 0n } });
  }

  private store(): void {
    const words = [...this].filter(([, { draft }]) => !draft.files.length);
    keep(
      ON_ITS_WAY,
      words.map(([id, each]) => [id, { ...each, item: { ...each.item, seq: 0 } }]),
    );
  }
}

const sending = new Sendings();
const held = new Held(deliver);
const state = new Watched<State>(NOTHING);
const histories = new Histories((frame) => state.get().open && (socket?.send(frame) ?? false));
let socket: Socket | undefined;
let searching = "";
let asked: (item: Item) => void = () => undefined;
/** Of what has been asked, what this page was told of; the history, which may come first, is none of that. */
const announced = new Set<string>();
let asking: ReturnType<typeof setTimeout> | undefined;
/** Whether this line has been asked for everything; somebody who changes their name logs in once more. */
let listed = false;
let troubled = false;

export function startAssistant(onAsked: (item: Item) => void): void {
  asked = onAsked;
  if (socket) return;
  sending.restore();
  put([...sending.values()].map(onItsWay));
  askBeforeLeaving(() => [...sending.values()].some(({ draft }) => draft.files.length));
  socket = new Socket(nickname, heard, became, tooMuch);
}

function became(open: boolean): void {
  if (!open) {
    listed = false;
    histories.clear();
  }
  change({ open });
}

export function useAssistant(): State {
  return useWatched(state);
}

export function nickname(): string {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

/** Under what name others see this person's answers. */
export function setNickname(name: string): void {
  try {
    localStorage.setItem(NAME, name.trim());
  } catch {
    return; // Without storage there is no name.
  }
  socket?.login();
}

/** Sends an answer. Its draft comes back where it does not count. */
export function answer(item: Item, contents: WireContent[]): void {
  giving(item, contents);
  deliver(item.id);
}

/**
 * Sends an answer in a moment, and until then, when `over` is called, it can be taken back. False where the agent does not
 * wait that long: it is sent at once.
 */
export function answerSoon(item: Item, contents: WireContent[], over: () => void): boolean {
  if (item.asked + item.timeout * 1000 - hubNow() < 3 * MOMENT) {
    answer(item, contents);
    return false;
  }
  giving(item, contents);
  held.hold(item.id, over);
  return true;
}

/** What the answer that can still be taken back had answered; it waits again. */
export function takeBack(): Item | undefined {
  const said = sending.get(held.id);
  if (!said) return undefined;
  sending.delete(said.item.id);
  put([said.item]);
  return said.item;
}

function deliver(id: string): void {
  const said = sending.get(id);
  if (said) socket?.send(said.frame);
  askWhetherArrived();
}

/** From now on this is the answer, as far as this page knows. */
function giving(item: Item, contents: WireContent[]): void {
  const request = { ID: item.id } as WireRequest;
  const response = { ID: item.id, IsError: false, contents };
  const frame: Frame =
    item.kind === "question"
      ? { Cmd: "AskQuestionReply", AskQuestionRequest: request, AskQuestionResponse: response }
      : { Cmd: "WorkReportReply", WorkReportRequest: request, WorkReportResponse: response };
  sending.set(item.id, { frame, draft: takeDraft(item.id), contents, item });
  put([onItsWay({ contents, item })]);
}

/** What is answered or written, as it is shown meanwhile. */
function onItsWay({ contents, item }: Pick<Sending, "contents" | "item">): Item {
  return { ...item, state: SENDING, by: state.get().called, contents, ended: hubNow() };
}

/** Writes to an agent that has asked nothing what stands in a draft; false when the line is broken. */
export function write(talk: Talk, draftOf: string, text: string, contents: WireContent[]): boolean {
  const { project, agent } = talk;
  const message = { id: onceKey(), projectDirectory: project, agentName: agent, text, contents };
  const frame = { Cmd: WRITTEN, AgentMessage: message };
  if (!socket?.send(frame)) return false;
  const item: Item = { ...ofMessage(message), asked: hubNow() };
  sending.set(message.id, { frame, draft: takeDraft(draftOf), contents, item });
  put([onItsWay({ contents, item })]);
  socket.check([]); // it stays on its way where nothing comes back
  return true;
}

export function loadOlder(): void {
  const { older } = state.get();
  if (older > 0n) histories.ask("older", { before: older }, (records, next) => took(records, { older: next }));
}

/** Whether a conversation has more than what is shown of it. */
export function hasOlder(talk: Talk, state: State): boolean {
  return olderFrom(talk, state) > 0n;
}

/** Before what the rest of a conversation is looked for. */
export function olderFrom(talk: Talk, { older, olderOf }: State): bigint {
  return olderOf.get(talk.key) ?? older;
}

export function loadOlderOf(talk: Talk, limit = 50): void {
  const { olderOf, older } = state.get();
  const first = talk.items.find((item) => item.seq > 0n)?.seq;
  const request = { projectDirectory: talk.project, agentName: talk.agent, before: olderOf.get(talk.key) ?? first ?? older };
  histories.ask(`older ${talk.key}`, { ...request, limit }, (records, next) => {
    took(records, { olderOf: new Map(state.get().olderOf).set(talk.key, next) });
  });
}

export function search(text: string): void {
  searching = text;
  histories.drop("search");
  change({ found: undefined });
  if (text) find(text, [], 0n);
}

/** The hub ends a page early where much was said: it is asked on until there are enough. Hits show words alone. */
function find(text: string, before: readonly Item[], from: bigint): void {
  const request = { text, before: from, limit: HITS - before.length, wordsOnly: true };
  histories.ask("search", request, (records, next) => {
    if (text !== searching) return;
    const found = [...before, ...records.map(ofRecord)];
    change({ found });
    if (next > 0n && found.length < HITS) find(text, found, next);
  });
}

function heard(frame: Frame): void {
  switch (frame.Cmd) {
    case "UserLogin":
      return loggedIn(frame);
    case "AskQuestion":
    case "WorkReport":
    case "TaskFinish":
      return taken(frame.AskQuestionRequest ?? frame.WorkReportRequest, frame.AskQuestionRequest ? "question" : "report");
    case "RequestCancelled": {
      const { requestId = "", reason = "" } = frame.RequestCancelledNotification ?? {};
      return end(requestId, { state: reason, contents: [], by: "" });
    }
    case WRITTEN:
      if (!frame.AgentMessage) return;
      sending.delete(frame.AgentMessage.id ?? "");
      return put([ofMessage(frame.AgentMessage)]);
    case "GetHistory":
      if (!troubled) socket?.steady();
      change({ problem: "" });
      return histories.answered(frame);
    case "CheckMessageValidity":
      return askWhatCounted(Object.entries(frame.CheckMessageValidityResponse?.validity ?? {}));
    case "Error":
      return refused(frame.ErrorNotification?.cmd ?? "", frame.ErrorNotification?.message ?? "");
    default:
      if (!frame.Cmd.endsWith("ReplyNotification")) return;
      const response = frame.AskQuestionResponse ?? frame.WorkReportResponse;
      const id = (frame.AskQuestionRequest ?? frame.WorkReportRequest)?.ID ?? response?.ID ?? "";
      const state = response?.IsError ? "refused" : "answered";
      end(id, { state, by: frame.Nickname ?? "", contents: response?.contents ?? [] });
  }
}

function loggedIn(frame: Frame): void {
  const { success = false, errorMessage = "", serverTime = 0n } = frame.UserLoginResponse ?? {};
  if (serverTime) change({ ahead: Date.now() - Number(serverTime) });
  change({ refused: success ? "" : errorMessage || "?", called: frame.Nickname ?? "" });
  if (!success || listed) return;
  listed = true;
  troubled = false;
  // The line broke before these came through; with the same id they are kept once.
  for (const { frame: written } of sending.values()) if (written.Cmd === WRITTEN) socket?.send(written);
  histories.ask("all", {}, (records, next) => took(records, { older: next, known: true }));
  if (searching) search(searching); // its answer may have been lost with the line before
  askWhetherArrived();
}

/** What the clock of the hub says; this browser's own where the hub has not told. */
function hubNow(): number {
  return Date.now() - state.get().ahead;
}

/** The hub says nothing of an answer that counts to whoever gave it. */
function askWhetherArrived(after = SOONEST): void {
  clearTimeout(asking);
  asking = setTimeout(() => {
    const ids = [...sending].filter(([id, { frame }]) => frame.Cmd !== WRITTEN && id !== held.id).map(([id]) => id);
    if (!ids.length) return;
    socket?.check(ids);
    askWhetherArrived(Math.min(after * 2, LATEST));
  }, after);
}

/** The hub cannot do what a frame said. Which of several of one kind it was it does not say: none of them counts. */
function refused(command: string, problem: string): void {
  if (command === "CheckMessageValidity") return;
  if (command === "GetHistory" || !command) histories.failed();
  if (command === "UserLogin") {
    troubled = true; // the page came in, and was not told what waits; it tries that again after a while
    setTimeout(() => troubled && socket?.restart(), COMES_AGAIN);
  }
  const lost = [...sending].filter(([id, { frame }]) => id !== held.id && (!command || frame.Cmd === command));
  for (const [id] of lost) bringBack(id, problem);
  if (!lost.length) change({ problem });
}

/** The hub ended the line because of a frame. It would do so again: the largest one is not sent once more. */
function tooMuch(): void {
  const size = (each: Sending) => each.draft.files.reduce((sum, file) => sum + file.size, each.draft.text.length);
  const [largest] = [...sending].sort(([, one], [, other]) => size(other) - size(one));
  if (largest) bringBack(largest[0], "tooMuch");
}

/** Shows the draft again of what was not sent. */
function bringBack(id: string, problem: string): void {
  const lost = sending.get(id);
  if (!lost) return;
  sending.delete(id);
  if (lost.frame.Cmd === WRITTEN) {
    restoreDraft(unaskedTo(talkKey(lost.item)), lost.draft, problem);
    const items = new Map(state.get().items);
    items.delete(id);
    return change({ items });
  }
  restoreDraft(id, lost.draft, problem);
  put([lost.item]);
}

function taken(request: WireRequest | undefined, kind: Kind): void {
  if (!request) return;
  const item = ofRequest(request, kind);
  const said = sending.get(item.id);
  if (said) {
    // The line broke before the answer came through: it is said again.
    if (held.id !== item.id) socket?.send(said.frame);
    return;
  }
  const known = state.get().items.get(item.id);
  put([{ ...item, seq: known?.seq ?? 0n }]);
  if (announced.has(item.id)) return;
  announced.add(item.id);
  asked(item);
}

/** What waits no more was answered by this page or ended otherwise: the hub's record of it says that. */
function askWhatCounted(validity: readonly (readonly [string, boolean])[]): void {
  const ids = validity.filter(([id, waits]) => !waits && sending.has(id)).map(([id]) => id);
  if (!ids.length) return;
  histories.ask(`counted ${ids.join()}`, { ids, wordsOnly: true }, (records) => {
    const ended = new Map(records.map(ofRecord).map((item) => [item.id, item]));
    const others = ids.filter((id) => sending.has(id) && !isOwn(id, ended.get(id)));
    for (const id of ids.filter((id) => sending.has(id) && !others.includes(id))) counted(id);
    for (const id of others.filter((id) => !ended.has(id))) end(id, { state: "cancelled", by: "", contents: [] });
    const elsewhere = others.filter((id) => ended.has(id));
    if (elsewhere.length) histories.ask(`ended ${elsewhere.join()}`, { ids: elsewhere }, (found) => took(found, {}));
  });
}

/** Whether a record has the words that this page has sent; where there are none, the whole of it has to tell. */
function isOwn(id: string, item: Item | undefined): boolean {
  const words = wordsOf(sending.get(id)?.contents ?? []);
  return words !== "" && item?.state === "answered" && words === wordsOf(item.contents);
}

function wordsOf(contents: readonly WireContent[]): string {
  return contents.map((each) => each.text?.text ?? "").join("").replace(/\s/g, "");
}

/** What this page answered counts. */
function counted(id: string): void {
  const said = state.get().items.get(id);
  sending.delete(id);
  if (said?.state === SENDING) put([{ ...said, state: "answered" }]);
}

function end(id: string, ending: Pick<Item, "state" | "by" | "contents">): void {
  const item = state.get().items.get(id);
  arrived(id, ending.contents);
  if (item) put([{ ...item, ...ending, ended: hubNow() }]);
}

/** Something has ended with these contents; what this page said instead is kept. */
function arrived(id: string, contents: readonly WireContent[]): void {
  const said = sending.get(id);
  if (!said) return;
  sending.delete(id);
  if (textOf(said.contents) !== textOf(contents) && hasWords(said.draft)) restoreDraft(id, said.draft);
}

function textOf(contents: readonly WireContent[]): string {
  return contents.map((each) => each.text?.text.trim() ?? each.type).join("\n");
}

function took(records: readonly WireRecord[], next: Partial<State>): void {
  const found = records.map(ofRecord);
  for (const item of found) if (item.kind !== "message" && item.state !== "waiting") arrived(item.id, item.contents);
  change(next);
  put(found.filter((item) => !sending.has(item.id) && !isOutdated(item)));
}

/** The hub may have read a record before something ended, and send it after the page was told of the end. */
function isOutdated({ id, state: then }: Item): boolean {
  const now = state.get().items.get(id)?.state;
  return then === "waiting" && now !== undefined && now !== then;
}

function put(items: Item[]): void {
  const all = new Map(state.get().items);
  for (const item of items) all.set(item.id, item);
  change({ items: all });
}

function change(next: Partial<State>): void {
  state.set({ ...state.get(), ...next });
}
