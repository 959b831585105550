import { useEffect } from "react";
import { type Talk, emptyTalk } from "@/lib/assistant/items";
import { hasOlder, olderFrom } from "@/lib/assistant/state";
import { assistant, useAssistant } from "@/lib/assistant/store";

const AT_ONCE = 200;

/**
 * Loads the history of a conversation until one thing of it is there, or anything at all. True while there is more to
 * look through.
 */
export function useWanted(key: string | undefined, talk: Talk | undefined, id: string | undefined): boolean {
  const state = useAssistant();
  const place = talk ?? emptyTalk(key);
  const there = talk !== undefined && (id === undefined || talk.items.some((item) => item.id === id));
  const searched = place !== undefined && !there && hasOlder(place, state);
  const from = place && olderFrom(place, state);
  useEffect(() => {
    if (place && searched && state.open) assistant.loadOlderOf(place, AT_ONCE);
  }, [key, id, from, searched, state.open]);
  return searched;
}
