import { type Language, listed } from "@/lib/i18n";

export interface Message {
  id: string | null;
  ts: number;
  sender: string;
  name: string;
  bot: boolean;
  text: string;
  type?: string;
  reply_to?: string;
  /** The platform's name of its thread, or the message with which that began. */
  thread?: string;
  /** The message with which it began. */
  root?: string;
  edited?: boolean;
  recalled?: boolean;
  source?: string;
}

export interface Chat {
  key: string;
  id: string;
  channel: string;
  /** What the platform calls it; empty when nobody could ask. */
  title: string;
  last_write: number;
  members: { name: string; bot: boolean }[];
  count: number;
  last: Message | null;
}

export interface MessagePage {
  messages: Message[];
  older: string | null;
  newer: string;
  more: boolean;
}

export interface News extends MessagePage {
  changed?: Message[];
  recalled?: string[];
  reload?: boolean;
}

export interface Decision {
  agent: string;
  respond: boolean | null;
  reason: string;
  sentence: string;
  score: number;
  stage: string;
  open: boolean;
  ts: number;
  /** What went wrong with an answer, in the words of the bot's log. */
  why?: string;
  /** What the gate had said, where something came after it. */
  before?: Decision;
}

export interface Member {
  sender: string;
  name: string;
  bot: boolean;
  last: number;
  aliases?: string[];
  description?: string;
}

export interface Activity {
  speakers: { sender: string; name: string; bot: boolean }[];
  /** When, who, and how many turns bots had in a row with it: null for what nobody said. */
  points: [number, number, number | null][];
}

export interface Post {
  id: string;
  text: string;
  state: "queued" | "sent" | "failed" | "expired";
  message_id?: string | null;
  error?: string | null;
  /** The only bot that may send it; empty for any. */
  agent?: string;
}

/** What a chat is called: where the platform told nobody, by its members. */
export function titleOf(chat: Chat, language: Language): string {
  const names = chat.members.map((member) => member.name);
  return chat.title || listed(names, language) || chat.id;
}
