// What agents ask and what people answer, as this page knows it. It is the same for all views of the page.

import { type Frame, Socket, type WireChoice, type WireContent, type WireRecord, type WireRequest } from "@/lib/assistant/socket";
import { onceKey } from "@/lib/utils";
import { Watched, useWatched } from "@/lib/watched";

export type Kind = "question" | "report" | "message";

export interface Item {
  id: string;
  kind: Kind;
  project: string;
  agent: string;
  model: string;
  client: string;
  text: string;
  choices: WireChoice[];
  timeout: number;
  asked: number;
  ended: number;
  state: string;
  by: string;
  contents: WireContent[];
}

export interface Talk {
  key: string;
  project: string;
  agent: string;
  items: Item[];
  waiting: number;
  latest: number;
}

interface State {
  items: ReadonlyMap<string, Item>;
  open: boolean;
  refused: string;
  problem: string;
  older: bigint;
  found: readonly Item[] | undefined;
}

const PAGE = 100;
const WRITTEN = "AgentMessage";
const NAME = "nanobot-transcript.nickname";
/** Answers and messages of which nobody has said yet that they arrived, by the id of what is answered or written. */
const unsure = new Map<string, Frame>();
const state = new Watched<State>({
  items: new Map(),
  open: false,
  refused: "",
  problem: "",
  older: 0n,
  found: undefined,
});
let socket: Socket | undefined;
let searching = "";
let asked: (item: Item) => void = () => undefined;

export function startAssistant(onAsked: (item: Item) => void): void {
  asked = onAsked;
  socket ??= new Socket(nickname, heard, (open) => change({ open }));
}

export function useAssistant(): State {
  return useWatched(state);
}

/** Names the conversation that something belongs to. */
export function talkKey(item: Pick<Item, "project" | "agent">): string {
  return JSON.stringify([item.project, item.agent]);
}

export function talksOf(items: ReadonlyMap<string, Item>): Talk[] {
  const talks = new Map<string, Talk>();
  for (const item of items.values()) {
    const key = talkKey(item);
    const talk = talks.get(key) ?? { key, project: item.project, agent: item.agent, items: [], waiting: 0, latest: 0 };
    talks.set(key, talk);
    talk.items.push(item);
    talk.latest = Math.max(talk.latest, item.asked, item.ended);
    if (isOpen(item)) talk.waiting += 1;
  }
  for (const talk of talks.values()) talk.items.sort((one, other) => one.asked - other.asked);
  return [...talks.values()].sort((one, other) => other.latest - one.latest);
}

export function isOpen(item: Item): boolean {
  return item.kind !== "message" && item.state === "waiting";
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

export function answer(item: Item, contents: WireContent[]): void {
  const request = { ID: item.id } as WireRequest;
  const response = { ID: item.id, IsError: false, contents };
  const frame: Frame =
    item.kind === "question"
      ? { Cmd: "AskQuestionReply", AskQuestionRequest: request, AskQuestionResponse: response }
      : { Cmd: "WorkReportReply", WorkReportRequest: request, WorkReportResponse: response };
  unsure.set(item.id, frame);
  socket?.send(frame);
  change({ problem: "" });
  put([{ ...item, state: "answered", by: nickname(), contents, ended: Date.now() }]);
  loadHistory(20);
}

/** Writes to an agent that has asked nothing; false when the line is broken. */
export function write(talk: Talk, text: string, contents: WireContent[]): boolean {
  const { project, agent } = talk;
  const id = onceKey();
  const frame = { Cmd: WRITTEN, AgentMessage: { id, projectDirectory: project, agentName: agent, text, contents } };
  if (!socket?.send(frame)) return false;
  unsure.set(id, frame);
  return true;
}

export function loadOlder(): void {
  const { older } = state.get();
  if (older > 0n) ask({ text: "", before: older, limit: PAGE });
}

export function search(text: string): void {
  searching = text;
  change({ found: undefined });
  if (text) ask({ text, before: 0n, limit: PAGE });
}

function loadHistory(limit = PAGE): void {
  ask({ text: "", before: 0n, limit });
}

function ask(request: NonNullable<Frame["GetHistoryRequest"]>): void {
  waitingFor.push(request);
  socket?.send({ Cmd: "GetHistory", GetHistoryRequest: request });
}

/** What histories were asked for, in this order: the answers do not say. */
let waitingFor: NonNullable<Frame["GetHistoryRequest"]>[] = [];

function heard(frame: Frame): void {
  switch (frame.Cmd) {
    case "UserLogin":
      waitingFor = [];
      change({ refused: frame.UserLoginResponse?.success ? "" : (frame.UserLoginResponse?.errorMessage ?? "") });
      if (!frame.UserLoginResponse?.success) return;
      // The line broke before these came through; with the same id they are kept once.
      for (const written of unsure.values()) if (written.Cmd === WRITTEN) socket?.send(written);
      loadHistory();
      if (searching) search(searching); // its answer may have been lost with the line before
      return;
    case "AskQuestion":
    case "WorkReport":
    case "TaskFinish":
      return taken(frame.AskQuestionRequest ?? frame.WorkReportRequest, frame.AskQuestionRequest ? "question" : "report");
    case "RequestCancelled": {
      const { requestId = "", reason = "" } = frame.RequestCancelledNotification ?? {};
      unsure.delete(requestId);
      return end(requestId, { state: reason, contents: [], by: "" });
    }
    case WRITTEN:
      unsure.delete(frame.AgentMessage?.id ?? "");
      if (frame.AgentMessage) put([ofMessage(frame.AgentMessage)]);
      return;
    case "GetHistory":
      return history(frame);
    case "Error":
      // What was said may not have counted: the record tells.
      unsure.clear();
      loadHistory();
      return change({ problem: frame.ErrorNotification?.message ?? "" });
    default:
      if (!frame.Cmd.endsWith("ReplyNotification")) return;
      const response = frame.AskQuestionResponse ?? frame.WorkReportResponse;
      const id = (frame.AskQuestionRequest ?? frame.WorkReportRequest)?.ID ?? response?.ID ?? "";
      unsure.delete(id);
      end(id, { state: "answered", by: frame.Nickname ?? "", contents: response?.contents ?? [] });
  }
}

function taken(request: WireRequest | undefined, kind: Kind): void {
  if (!request) return;
  const item = ofRequest(request, kind);
  const said = unsure.get(item.id);
  if (said) {
    // The line broke before the answer came through: it is said again.
    socket?.send(said);
    return;
  }
  const known = state.get().items.has(item.id);
  put([item]);
  if (!known) asked(item);
}

function end(id: string, ending: Pick<Item, "state" | "by" | "contents">): void {
  const item = state.get().items.get(id);
  if (item) put([{ ...item, ...ending, ended: Date.now() }]);
}

function history(frame: Frame): void {
  const request = waitingFor.shift();
  const found = (frame.GetHistoryResponse?.records ?? []).map(ofRecord);
  if (request?.text) {
    if (request.text === searching) change({ found });
    return;
  }
  for (const item of found) if (item.state !== "waiting") unsure.delete(item.id);
  const next = frame.GetHistoryResponse?.nextBefore ?? 0n;
  if (request && (request.before > 0n || request.limit === PAGE)) change({ older: next });
  put(found.filter((item) => !unsure.has(item.id)));
}

function put(items: Item[]): void {
  const all = new Map(state.get().items);
  for (const item of items) all.set(item.id, item);
  change({ items: all });
}

function change(next: Partial<State>): void {
  state.set({ ...state.get(), ...next });
}

function ofRequest(request: WireRequest, kind: Kind): Item {
  const about = request.Request;
  return {
    id: request.ID,
    kind,
    project: about?.ProjectDirectory ?? "",
    agent: about?.AgentName ?? "",
    model: about?.ReasoningModelName ?? "",
    client: about?.McpClientName ?? "",
    text: about?.Question ?? about?.Summary ?? "",
    choices: about?.Questions ?? [],
    timeout: about?.Timeout ?? 0,
    asked: Number(request.Timestamp),
    ended: 0,
    state: about?.NotifyOnly ? "notified" : "waiting",
    by: "",
    contents: [],
  };
}

function ofMessage(message: NonNullable<Frame["AgentMessage"]>): Item {
  return {
    id: message.id ?? "",
    kind: "message",
    project: message.projectDirectory ?? "",
    agent: message.agentName ?? "",
    model: "",
    client: "",
    text: message.text ?? "",
    choices: [],
    timeout: 0,
    asked: Number(message.writtenAt ?? 0n),
    ended: Number(message.pickedUpAt ?? 0n),
    state: message.state ?? "",
    by: message.nickname ?? "",
    contents: message.contents ?? [],
  };
}

function ofRecord(record: WireRecord): Item {
  if (record.message) return ofMessage(record.message);
  const request = record.askQuestionRequest ?? record.workReportRequest;
  const item = ofRequest(request ?? ({ ID: record.id, Timestamp: record.askedAt } as WireRequest), record.kind as Kind);
  return { ...item, state: record.state, by: record.answeredBy, contents: record.contents, ended: Number(record.endedAt) };
}
