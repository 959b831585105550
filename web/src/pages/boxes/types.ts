import type { News } from "@/lib/events";

export interface Owner {
  name: string;
  permitted: boolean;
  problem?: string;
  inbox?: number;
  unread?: number;
}
export interface MailRow {
  file: string;
  id?: string;
  type?: string;
  title?: string;
  from?: string;
  to?: string;
  time?: string;
  unread?: boolean;
  problem?: string;
  box?: string;
  text?: string;
}
export interface ThreadValue extends MailRow {
  box: BoxName;
  entries: { time: string; from: string; to: string; type: string; text: string; more?: string }[];
  older_entries_left_out?: number;
}
export type BoxName = "inbox" | "outbox" | "done" | "cancel";

export const concerns = (agent: string) => (news: News) =>
  news.room === "boxes" && (news.agent === undefined || news.agent === agent);

/** Mails name their times in UTC, often without saying so. */
export function utc(time: string): string {
  return /(Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time.replace(" ", "T")}Z`;
}
