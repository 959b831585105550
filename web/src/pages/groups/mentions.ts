import type { Member } from "@/pages/groups/types";

/** The bots that a text mentions: an @ with a name or alias of theirs. */
export function mentioned(text: string, bots: readonly Member[]): Member[] {
  const owners = new Map(bots.flatMap((bot) => namesOf(bot).map((name) => [name.toLowerCase(), bot])));
  // The longest first, and none that goes on; Chinese sets no spaces after a name.
  const names = [...owners.keys()].sort((one, other) => other.length - one.length).map(escaped);
  if (!names.length) return [];
  const found = text.matchAll(RegExp(`[@＠](${names.join("|")})(?!(?!\\p{sc=Han})[\\p{L}\\p{N}_])`, "giu"));
  return [...new Set([...found].flatMap(([, name = ""]) => owners.get(name.toLowerCase()) ?? []))];
}

/** Who says a text that mentions bots: one that it does not mention, if there is one, as none answers itself. */
export function speakerFor(calls: readonly Member[], bots: readonly Member[]): Member | undefined {
  const latest = bots.toSorted((one, other) => other.last - one.last);
  return latest.find((bot) => !calls.includes(bot)) ?? latest[0];
}

function namesOf({ name, aliases = [] }: Member): string[] {
  return [name, ...aliases].filter(Boolean);
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
