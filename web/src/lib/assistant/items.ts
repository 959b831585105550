// What is asked, reported and written, as the pages show it, and how it is read from the frames.

import type { Frame, WireChoice, WireContent, WireRecord, WireRequest } from "@/lib/assistant/socket";

export type Kind = "question" | "report" | "message";

/** The state of an answer or a message of which the hub has not said yet that it has it. */
export const SENDING = "sending";

const LONGEST_NAME = 1000;
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g;
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

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
  /** Its place in the history; 0 of what came while the page was open. */
  seq: bigint;
}

export interface Talk {
  key: string;
  project: string;
  agent: string;
  items: Item[];
  waiting: number;
  latest: number;
}

/** Names the conversation that something belongs to. */
export function talkKey(item: Pick<Item, "project" | "agent">): string {
  return JSON.stringify([item.project, item.agent]);
}

function newTalk({ project, agent }: Pick<Item, "project" | "agent">): Talk {
  return { key: talkKey({ project, agent }), project, agent, items: [], waiting: 0, latest: 0 };
}

/** A conversation of which nothing is here yet; undefined where a name is none of a conversation. */
export function emptyTalk(key: string | undefined): Talk | undefined {
  try {
    const parts: unknown = JSON.parse(key ?? "");
    if (!Array.isArray(parts) || parts.length !== 2) return undefined;
    const [project, agent] = parts.map((part) => keptName(String(part))) as [string, string];
    return newTalk({ project, agent });
  } catch {
    return undefined;
  }
}

/** A name as the hub keeps it: on one line, without marks that turn the direction of reading, and not too long. */
function keptName(name: string): string {
  const clean = name.replace(CONTROL, " ").replace(DIRECTION, "");
  return [...clean].slice(0, LONGEST_NAME).join("");
}

export function talksOf(items: ReadonlyMap<string, Item>): Talk[] {
  const talks = new Map<string, Talk>();
  for (const item of items.values()) {
    const key = talkKey(item);
    const talk = talks.get(key) ?? newTalk(item);
    talks.set(key, talk);
    talk.items.push(item);
    talk.latest = Math.max(talk.latest, item.asked, item.ended);
    if (isOpen(item)) talk.waiting += 1;
  }
  for (const talk of talks.values()) talk.items.sort((one, other) => one.asked - other.asked);
  return [...talks.values()].sort((one, other) => other.latest - one.latest);
}

/** What waits for an answer, the longest first. */
export function waitingOf(items: ReadonlyMap<string, Item>): Item[] {
  return [...items.values()].filter(isOpen).sort((one, other) => one.asked - other.asked);
}

export function isOpen(item: Item): boolean {
  return item.kind !== "message" && item.state === "waiting";
}

/** Whether one of the options is an answer. */
export function takesOne(item: Item): boolean {
  const [choice, ...others] = item.choices;
  return choice !== undefined && !others.length && !choice.multiple && choice.options.length > 0;
}

/** Whether words are an answer; where not, an option has to be chosen. */
export function takesWords(item: Item): boolean {
  return !item.choices.length || item.choices.some((choice) => choice.custom || !choice.options.length);
}

export function ofRequest(request: WireRequest, kind: Kind): Item {
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
    seq: 0n,
  };
}

export function ofMessage(message: NonNullable<Frame["AgentMessage"]>): Item {
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
    seq: 0n,
  };
}

export function ofRecord(record: WireRecord): Item {
  if (record.message) return { ...ofMessage(record.message), seq: record.seq };
  const request = record.askQuestionRequest ?? record.workReportRequest;
  const item = ofRequest(request ?? ({ ID: record.id, Timestamp: record.askedAt } as WireRequest), record.kind as Kind);
  return {
    ...item,
    state: record.state,
    by: record.answeredBy,
    contents: record.contents,
    ended: Number(record.endedAt),
    seq: record.seq,
  };
}
