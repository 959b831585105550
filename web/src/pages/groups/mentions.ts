import type { Decision, Member, Message } from "@/pages/groups/types";

/** The bots that a text mentions: an @ with a name or alias of theirs. */
export function mentioned(text: string, bots: readonly Member[]): Member[] {
  const owners = new Map(bots.flatMap((bot) => namesOf(bot).map((name) => [name.toLowerCase(), bot])));
  // The longest first, and none that goes on; Chinese sets no spaces after a name.
  const names = [...owners.keys()].sort((one, other) => other.length - one.length).map(escaped);
  if (!names.length) return [];
  const found = text.matchAll(RegExp(`[@＠](${names.join("|")})(?!(?!\\p{sc=Han})[\\p{L}\\p{N}_])`, "giu"));
  return [...new Set([...found].flatMap(([, name = ""]) => owners.get(name.toLowerCase()) ?? []))];
}

/** A bot that said or decided nothing for this long may not run any more. */
const RUNS = 10 * 60_000;

/** When each bot, by name, last said or decided something in a group. */
export function signsOfLife(
  messages: readonly Message[],
  decisions: Readonly<Record<string, Decision[]>>,
): Map<string, number> {
  const signs = new Map<string, number>();
  const note = (name: string, ts: number) => signs.set(name, Math.max(ts, signs.get(name) ?? 0));
  for (const message of messages) if (message.bot) note(message.name, message.ts);
  for (const each of Object.values(decisions).flat()) note(each.agent, each.ts);
  return signs;
}

/** Who says a text that mentions bots: another one that runs, as none answers itself. Undefined: whichever runs. */
export function speakerFor(
  calls: readonly Member[],
  bots: readonly Member[],
  signs: ReadonlyMap<string, number>,
): Member | undefined {
  const sign = (bot: Member) => signs.get(bot.name) ?? 0;
  const running = bots.filter((bot) => !calls.includes(bot) && Date.now() - sign(bot) < RUNS);
  return running.toSorted((one, other) => sign(other) - sign(one))[0];
}

function namesOf({ name, aliases = [] }: Member): string[] {
  return [name, ...aliases].filter(Boolean);
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
