import { useEffect, useRef } from "react";

/** Calls what belongs to a key, unless somebody types or a dialog is open. */
export function useKeys(keys: Record<string, () => void>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      const target = event.target as HTMLElement | null;
      if (target?.closest("input, textarea, select, dialog[open], [contenteditable]")) return;
      const call = latest.current[event.key];
      if (!call) return;
      event.preventDefault();
      call();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

/** Ctrl+Enter or Cmd+Enter, by which texts are sent. */
export function isSend(event: React.KeyboardEvent): boolean {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.nativeEvent.isComposing;
}
