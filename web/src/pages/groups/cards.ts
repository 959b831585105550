// What stands in the text of a card, and what its buttons say to an agent that asks.

import { type Item, SENDING, isOpen } from "@/lib/assistant/items";
import type { Message } from "@/pages/groups/types";

/** Words of a card, or the buttons that stand beside each other behind them. */
export type Part = { words: string } | { buttons: string[] };

/** A card may wait for a bot that sends it. */
const ASKED_WITHIN = 60 * 60_000;
/** After so many characters a card cuts the question, and the words of a button. */
const LONGEST = 3500;
const LONGEST_BUTTON = 100;
/** What stands behind the question: options, buttons, how to answer, or how it ended. */
const AFTER = /^(\[|\*\*\d+\.\*\*|Reply in this thread|Press a button|在本话题中回复|点击按钮|✅|⛔|⏳|⏹)/u;
const CONFIRM = ["Confirm", "确认"];
const SEND = ["Send", "提交"];
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

/**
 * What an agent asks with this card, if that is on the page of questions, too. Nothing but its words says so: they have
 * to be those of one question alone, from who asks to the last button, so that no other card gets its buttons.
 */
export function questionOf(message: Message, items: ReadonlyMap<string, Item>): Item | undefined {
  if (!message.bot || message.type !== "interactive") return undefined;
  const near = [...items.values()].filter((each) => Math.abs(each.asked - message.ts) < ASKED_WITHIN);
  const [found, other] = near.filter((each) => each.kind !== "message" && isCardOf(message.text, each));
  return other ? undefined : found;
}

function isCardOf(text: string, item: Item): boolean {
  const [title = "", ...shown] = linesOf(text);
  const asked = linesOf(item.text.length > LONGEST ? `${item.text.slice(0, LONGEST)} …` : item.text);
  const rest = shown.slice(asked.length);
  return (
    isTitle(title, item) &&
    asked.length > 0 &&
    asked.every((line, index) => line === shown[index]) &&
    (!rest[0] || AFTER.test(rest[0])) &&
    hasButtonsOf(text, item)
  );
}

function isTitle(line: string, item: Item): boolean {
  const who = item.agent ? [plain(item.agent)] : ["An agent", "智能体"];
  const does = item.kind === "report" ? ["reports", "汇报"] : ["asks", "提问"];
  return who.some((name) => does.some((verb) => `${line} `.startsWith(`${name} ${verb} `)));
}

/** None at all, as on a card of what is over, or exactly those that ask this. */
function hasButtonsOf(text: string, item: Item): boolean {
  const buttons = partsOf(text).flatMap((part) => ("buttons" in part ? part.buttons : []));
  const [choice, ...others] = item.choices;
  if (!buttons.length) return true;
  if (item.kind === "report") return buttons.length === 1 && CONFIRM.includes(buttons[0] ?? "");
  if (!choice || others.length) return false;
  if (choice.multiple) return buttons.length === 1 && SEND.includes(buttons[0] ?? "");
  return buttons.length === choice.options.length && buttons.every((each) => optionOf(each, item) !== undefined);
}

/** As lines of a card are recorded: without what mentions somebody or loads a picture. */
function linesOf(text: string): string[] {
  return text.replaceAll("＜", "<").replaceAll("![", "[").split("\n").map(plain).filter(Boolean);
}

function plain(text: string): string {
  return text.split(/\s+/).filter(Boolean).join(" ");
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
  const whole = [...`${number}. ${plain(option.label)}`].slice(0, LONGEST_BUTTON).join("");
  return whole === button ? option.label : undefined;
}
