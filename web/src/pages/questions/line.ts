// The line on which agents ask, as the frame around the pages follows it.

import { isOpen, talkKey } from "@/lib/assistant/items";
import { assistant, useAssistant } from "@/lib/assistant/store";
import { notify, startNotifying } from "@/lib/notify";
import type { Line, LineState } from "@/lib/page";
import { go } from "@/lib/router";

export const line: Line = { start, use: useLine };

function start(): void {
  startNotifying();
  assistant.start((item) => notify(item.agent || item.project, item.text, () => go("questions", talkKey(item))));
}

function useLine(): LineState {
  const { items, open, known, refused } = useAssistant();
  return {
    connection: open ? "live" : known ? "offline" : "connecting",
    refused: refused !== "",
    known,
    count: items.size,
    waiting: [...items.values()].filter(isOpen).length,
  };
}
