import { useEffect, useEffectEvent } from "react";

/** Calls what belongs to a key, unless somebody types or a dialog is open. */
export function useKeys(keys: Record<string, () => void>): void {
  const pressed = useEffectEvent((event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target as HTMLElement | null;
    if (target?.closest("input, textarea, select, dialog[open], [contenteditable]")) return;
    const call = keys[event.key];
    if (!call) return;
    event.preventDefault();
    call();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => pressed(event);
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}

/** Ctrl+Enter or Cmd+Enter, by which texts are sent. */
export function isSend(event: React.KeyboardEvent): boolean {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.nativeEvent.isComposing;
}
