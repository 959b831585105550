import type { Draft } from "@/lib/assistant/drafts";
import { type Item, takesWords } from "@/lib/assistant/items";
import type { WireChoice, WireContent } from "@/lib/assistant/socket";

const BETWEEN_PARTS = "\n\n";
const BETWEEN_LABELS = ", ";

/** Whether what was chosen and written is an answer. */
export function isReady(item: Item, draft: Draft): boolean {
  return isChosen(draft) || (takesWords(item) && (draft.text.trim() !== "" || draft.files.length > 0));
}

export function isChosen(draft: Draft): boolean {
  return Object.values(draft.chosen).some((labels) => labels.length > 0);
}

/** Choices, words, pictures and files: whatever of it there is becomes the answer. */
export function contentsOf(item: Item, draft: Draft): WireContent[] {
  const parts: string[] = [];
  item.choices.forEach((choice, index) => {
    const labels = draft.chosen[index];
    if (labels?.length) parts.push(headOf(item, choice) + labels.join(BETWEEN_LABELS));
  });
  if (takesWords(item) && draft.text.trim()) parts.push(draft.text);
  return [...inWords(parts.join(BETWEEN_PARTS)), ...(takesWords(item) ? draft.files.map((file) => file.content) : [])];
}

export function inWords(text: string): WireContent[] {
  return text ? [{ type: 1, text: { text } }] : [];
}

/** An answer as people read it: which options it chooses, by the number of the choice, and what it says beside them. */
export function readAnswer(item: Item): { chosen: string[][]; rest: WireContent[] } {
  const chosen = item.choices.map((): string[] => []);
  const rest = item.contents.flatMap((content) => {
    if (!content.text) return [content];
    const parts = content.text.text.split(BETWEEN_PARTS);
    while (parts[0] !== undefined && takePart(item, parts[0], chosen)) parts.shift();
    return inWords(parts.join(BETWEEN_PARTS));
  });
  return { chosen, rest };
}

/** Notes the options that a part of an answer names; false where it names none, or the choice has its answer already. */
function takePart(item: Item, part: string, chosen: string[][]): boolean {
  return item.choices.some((choice, index) => {
    const head = headOf(item, choice);
    const labels = part.startsWith(head) ? named(part.slice(head.length).trim(), choice) : [];
    if (!labels.length || (chosen[index]?.length && !choice.multiple)) return false;
    chosen[index]?.push(...labels);
    return true;
  });
}

function headOf(item: Item, choice: WireChoice): string {
  return item.choices.length > 1 ? `${choice.header || choice.question}: ` : "";
}

/** The options that a text is made of, and nothing else; one of them may have the mark between two in it. */
function named(text: string, { options, multiple }: WireChoice): string[] {
  const labels = options.map(({ label }) => label).sort((one, other) => other.length - one.length);
  const found: string[] = [];
  for (let left = text; left; ) {
    const label = labels.find((each) => each && (left === each.trim() || (multiple && left.startsWith(each + BETWEEN_LABELS))));
    if (label === undefined) return [];
    found.push(label);
    left = left.slice(label.length + BETWEEN_LABELS.length);
  }
  return found;
}
