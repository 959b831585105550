import type { Page } from "@/lib/data";
import type { News } from "@/lib/events";

/** The name under which people write on this page. */
export const PERSON = "human";

export interface Project {
  key: string;
}
export interface Agent {
  name: string;
  project: string;
  program: string;
  model: string;
  task: string;
  last_active: string;
  unread: number;
}
export interface Conversation {
  id: string;
  subject: string;
  messages: number;
  senders: string[];
  last_from: string;
  last_ts: number;
  importance: string;
}
export interface Letter {
  id: string;
  thread_id: string | null;
  from: string;
  to: string[];
  cc?: string[];
  subject: string;
  created_ts: number;
  importance: string;
  ack_required: boolean;
  /** Missing where there was no room for it in the answer. */
  body_md?: string;
  /** Why it is missing. */
  body_left_out?: string;
  attachments?: { type?: string; path?: string }[];
  read?: string | null;
  acknowledged?: string | null;
}
export interface Point {
  text: string;
  from: string;
  message_id: string;
  owner?: string | null;
  done?: boolean;
}
export interface Summary {
  messages: number;
  participants: { name: string; messages: number }[];
  key_points: Point[];
  decisions: Point[];
  open_questions: Point[];
  action_items: Point[];
}
/** The newest letters of a thread, or older ones; the oldest of them first. */
export interface LettersOfThread extends Page {
  id: string;
  subject: string;
  messages: Letter[];
  summary: Summary;
}
export interface Hit {
  id: string;
  thread_id: string | null;
  subject: string;
  from: string;
  created_ts: number;
  snippet: string;
}
export interface Claim {
  path: string;
  agent: string;
  exclusive: boolean;
  reason: string;
  expires_ts: number;
}

export interface AgentPage extends Page {
  agents: Agent[];
}
export interface ThreadPage extends Page {
  threads: Conversation[];
}
export interface LetterPage extends Page {
  messages: Letter[];
}
export interface HitPage extends Page {
  hits: Hit[];
  notes: string[];
}
export interface ClaimPage extends Page {
  claims: Claim[];
}

export const ofMail = (news: News) => news.room === "mail";
