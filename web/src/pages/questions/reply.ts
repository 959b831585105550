import type { Draft } from "@/lib/assistant/drafts";
import { type Item, takesWords } from "@/lib/assistant/items";
import type { WireContent } from "@/lib/assistant/socket";

/** Whether what was chosen and written is an answer. */
export function isReady(item: Item, draft: Draft): boolean {
  const chosen = Object.values(draft.chosen).some((labels) => labels.length > 0);
  return chosen || (takesWords(item) && (draft.text.trim() !== "" || draft.files.length > 0));
}

/** Choices, words, pictures and files: whatever of it there is becomes the answer. */
export function contentsOf(item: Item, draft: Draft): WireContent[] {
  const parts: string[] = [];
  item.choices.forEach((choice, index) => {
    const labels = draft.chosen[index];
    if (labels?.length) parts.push((item.choices.length > 1 ? `${choice.header || choice.question}: ` : "") + labels.join(", "));
  });
  if (takesWords(item) && draft.text.trim()) parts.push(draft.text);
  return [...inWords(parts.join("\n\n")), ...(takesWords(item) ? draft.files.map((file) => file.content) : [])];
}

export function inWords(text: string): WireContent[] {
  return text ? [{ type: 1, text: { text } }] : [];
}
