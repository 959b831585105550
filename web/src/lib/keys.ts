import { useEffect, useEffectEvent } from "react";

/** Milliseconds without a key after which nobody writes on. */
const PAUSE = 1000;
let wroteOn = -PAUSE;

/** Takes the focus from the field in which somebody may be writing: what they write on calls nothing on the page. */
export function letGo(field: HTMLElement): void {
  field.blur();
  wroteOn = performance.now();
}

/** Where keys write, or choose, and call nothing. */
const FIELDS = "input:not([type=radio], [type=checkbox]), textarea, select, dialog[open], [contenteditable]";

/** Whether somebody types, or could with the next key. */
export function isTyping(): boolean {
  return document.activeElement?.closest(FIELDS) != null;
}

/**
 * Calls what belongs to a key, unless somebody types or a dialog is open. Escape leaves the field in which they type. Enter
 * presses the button or link that has the focus. With `first`, a key that the rest of the page knows, too, does this.
 */
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>, { first = false } = {}): void {
  const pressed = useEffectEvent((event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target as HTMLElement | null;
    if (event.key === "Escape" && target?.matches("input, textarea, select") && !target.closest("dialog")) {
      event.preventDefault(); // browsers would empty a search field
      target.blur(); // the next one leads back to the list
      return;
    }
    if (target?.closest(FIELDS)) return;
    if (event.key === "Enter" && target?.closest("a, button, summary")) return;
    if ((event.key.length === 1 || event.key === "Enter") && performance.now() - wroteOn < PAUSE) {
      wroteOn = performance.now();
      return;
    }
    const call = keys[event.key];
    if (!call) return;
    event.preventDefault();
    if (first) event.stopPropagation(); // to who listens behind this
    call(event);
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => pressed(event);
    addEventListener("keydown", listener, first);
    return () => removeEventListener("keydown", listener, first);
  }, [first]);
}

/** Ctrl+Enter or Cmd+Enter, by which texts are sent. */
export function isSend(event: React.KeyboardEvent): boolean {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.nativeEvent.isComposing;
}

/** Moves the focus to where one writes to what is open. */
export function toWrite(): void {
  document.querySelector<HTMLElement>("#opened [data-write]")?.focus();
}

/** Moves the focus into what a link of a list has opened: to where one writes, or else to what one reads. */
export function enter(to: string): void {
  const focus = () =>
    requestAnimationFrame(() => {
      const opened = document.getElementById("opened");
      const inside = opened?.querySelector<HTMLElement>("[data-enter]") ?? opened?.querySelector<HTMLElement>("[role=log], [role=region]");
      (inside ?? opened)?.focus();
    });
  if (new URL(to, location.href).hash === location.hash) focus();
  else addEventListener("hashchange", focus, { once: true });
}
