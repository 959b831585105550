import { useEffect, useEffectEvent, useRef, useState } from "react";
import { toast } from "@/components/ui/toast";
import { hasWords, unaskedTo, useDrafts } from "@/lib/assistant/drafts";
import { type Item, emptyTalk, talkKey, waitingOf } from "@/lib/assistant/items";
import type { WireContent } from "@/lib/assistant/socket";
import { assistant, useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { isTyping, letGo } from "@/lib/keys";
import { go, href } from "@/lib/router";

/** Milliseconds in which the second click of two does not answer what the first one has brought under it. */
const SETTLING = 500;

/** Answers a question. With `chosen`, which one click chose, it can be taken back for a moment. */
export type Give = (item: Item, contents: WireContent[], chosen?: string) => void;

interface Leading {
  give: Give;
  /** The id of what has just opened by itself: it takes no click yet. */
  settling: string;
  undo: () => void;
}

/**
 * Opens questions: the newest by itself where nothing is open, or nothing that waits is, and after an answer the one that
 * waits longest. What somebody has chosen to read, or is writing, stays. `kept` is true while they do something else.
 */
export function useLeading(place: string[], kept: boolean): Leading {
  const t = useT();
  const { items, known } = useAssistant();
  const drafts = useDrafts();
  const seen = useRef<Set<string>>(undefined);
  const led = useRef("");
  const [settling, setSettling] = useState("");
  const waiting = waitingOf(items);
  const talk = emptyTalk(place[0])?.key;
  const back = waiting.find((item) => drafts(item.id).problem);

  const lead = (item: Item, focused = false) => {
    led.current = href("questions", talkKey(item), item.id);
    setSettling(item.id);
    if (focused) focusOn(item.id, led.current);
    location.replace(led.current);
  };
  const isBusy = () => {
    const here = [...items.values()].filter((item) => talkKey(item) === talk && item !== back);
    const names = [unaskedTo(talk ?? ""), ...here.map((item) => item.id)];
    return kept || isTyping() || names.some((name) => hasWords(drafts(name)));
  };
  const isOver = () =>
    place[0] === undefined || (location.hash === led.current && !waiting.some((item) => talkKey(item) === talk));

  const came = useEffectEvent(() => {
    const newest = waiting.findLast((item) => !seen.current?.has(item.id));
    const isFirst = seen.current === undefined;
    seen.current = new Set([...(seen.current ?? []), ...waiting.map((item) => item.id)]);
    if (newest && !isBusy() && (isFirst ? place[0] === undefined : isOver())) lead(newest);
  });
  const ids = waiting.map((item) => item.id).join("\n");
  useEffect(() => {
    if (known) came();
  }, [known, ids]);

  const cameBack = useEffectEvent(() => {
    if (back && place[1] !== back.id) {
      if (isBusy()) toast(t("notSentTo", { name: back.agent || t("agent") }), { bad: true });
      else lead(back);
    }
  });
  useEffect(() => cameBack(), [back?.id]);

  useEffect(() => {
    if (!settling) return;
    const timer = setTimeout(() => setSettling(""), SETTLING);
    return () => clearTimeout(timer);
  }, [settling]);

  const undo = () => {
    const item = assistant.takeBack();
    if (!item) return;
    const place = ["questions", talkKey(item), item.id];
    focusOn(item.id, href(...place));
    go(...place);
  };
  const give: Give = (item, contents, chosen) => {
    if (isTyping() && document.activeElement instanceof HTMLElement) letGo(document.activeElement);
    if (chosen === undefined) assistant.answer(item, contents);
    else {
      let remove = () => {};
      if (assistant.answerSoon(item, contents, () => remove())) {
        const text = t("answersWith", { name: item.agent || t("agent"), text: chosen });
        remove = toast(text, { action: { label: t("undo"), key: "u", act: undo } });
      }
    }
    const next = waiting.find((each) => each.id !== item.id);
    if (next) return lead(next, true);
    led.current = location.hash;
    document.querySelector<HTMLElement>("#opened [role=log]")?.focus();
  };
  return { give, settling, undo };
}

/** Moves the focus to a question once it is shown: whoever hears the page is told what it asks. */
function focusOn(id: string, place: string): void {
  const focus = () =>
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-item="${CSS.escape(id)}"]`)?.focus({ preventScroll: true }));
  if (location.hash === place) focus();
  else addEventListener("hashchange", focus, { once: true });
}
