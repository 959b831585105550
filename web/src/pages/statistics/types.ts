export interface Statistics {
  messages: Messages;
  answers: {
    /** Chats in which it was not looked up what bots did. */
    chats_left_out: number;
    /** Seconds; how many answers came within each, `took.counts` of a bot says, and at its end how many took longer. */
    within: number[];
    bots: BotNumbers[];
  };
  budgets: Budget[];
}

export interface Messages {
  /** How many were looked at, and since when (ms) nothing was left out; null where nothing was. */
  read: number;
  whole_since: number | null;
  /** Who said most, the most first; how many more there are. */
  members: { name: string; bot: boolean; messages: number }[];
  others: number;
  /** `by`: how many of them each of the members said. */
  days: { begins: number; messages: number; by: number[] }[];
}

export type Done = "answered" | "silent" | "failed" | "begun";

export interface Verdicts {
  done: Done;
  reason: string;
  sentence: string;
  /** What went wrong, in the words of the bot's log. */
  why: string;
  count: number;
}

export interface BotNumbers {
  agent: string;
  verdicts: Verdicts[];
  /** Seconds: half of the answers took no longer than `median`, nine of ten no longer than `most`. */
  took: { count: number; median: number; most: number; counts: number[] } | null;
}

export interface Budget {
  name: string;
  used: number;
  limit: number;
}

/** When each of the last days began where this browser is, the earliest first. */
export function beginnings(count: number): number[] {
  const now = new Date();
  const begin = (back: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - back).getTime();
  return Array.from({ length: count }, (_, index) => begin(count - 1 - index));
}
