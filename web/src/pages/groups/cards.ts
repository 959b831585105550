// What stands in the text of a card, and what its buttons say to an agent that asks.

import { type Item, SENDING, isOpen } from "@/lib/assistant/items";
import type { Message } from "@/pages/groups/types";

/** Words of a card, or the buttons that stand beside each other behind them. */
export type Part = { words: string } | { buttons: string[] };

/** A card may wait for a bot that sends it. */
const ASKED_WITHIN = 60 * 60_000;
const BUTTON = "[button: ";
const BETWEEN = `]${BUTTON}`;

/** Each button is recorded as `[button: its words]`, on a line of its own or behind others. */
export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  for (const line of text.split("\n")) {
    const last = parts.at(-1);
    const buttons = buttonsIn(line.trim());
    if (buttons) {
      if (last && "buttons" in last) last.buttons.push(...buttons);
      else parts.push({ buttons });
    } else if (last && "words" in last) last.words += `\n${line}`;
    else parts.push({ words: line });
  }
  return parts.filter((part) => "buttons" in part || part.words.trim());
}

function buttonsIn(line: string): string[] | undefined {
  if (!line.startsWith(BUTTON) || !line.endsWith("]")) return undefined;
  return line.slice(BUTTON.length, -1).split(BETWEEN);
}

/** What an agent asks with this card, if that is on the page of questions, too. */
export function questionOf(message: Message, items: ReadonlyMap<string, Item>): Item | undefined {
  if (!message.bot || message.type !== "interactive") return undefined;
  const away = (item: Item) => Math.abs(item.asked - message.ts);
  const start = (item: Item) => item.text.trim().split("\n", 1)[0] ?? "";
  const [found] = [...items.values()]
    .filter((each) => each.kind !== "message" && away(each) < ASKED_WITHIN)
    .filter((each) => start(each) && message.text.includes(start(each)))
    .sort((one, other) => away(one) - away(other));
  return found;
}

/** Whether an answer can be given, is on its way, or was. */
export function stateOf(item: Item): "open" | "sending" | "answered" | "ended" {
  if (isOpen(item)) return "open";
  if (item.state === SENDING) return "sending";
  return item.state === "answered" ? "answered" : "ended";
}

/** The option that a button stands for: `2. Its label`, of which a long one is cut; undefined for what is none. */
export function optionOf(button: string, item: Item): string | undefined {
  const [choice, ...others] = item.choices;
  const number = Number(/^(\d{1,3})\. /.exec(button)?.[1]);
  const option = others.length ? undefined : choice?.options[number - 1];
  if (!option) return undefined;
  const whole = `${number}. ${option.label.split(/\s+/).filter(Boolean).join(" ")}`;
  return whole.startsWith(button) ? option.label : undefined;
}
