// Places in the address behind "#": page/part/part. It works the same wherever the hub is mounted.

import { useMemo, useSyncExternalStore } from "react";

export function usePlace(): string[] {
  const hash = useSyncExternalStore(watch, () => location.hash);
  return useMemo(() => parts(hash), [hash]);
}

export function href(...place: string[]): string {
  return `#/${place.map(encodeURIComponent).join("/")}`;
}

export function go(...place: string[]): void {
  location.hash = href(...place);
}

function watch(changed: () => void): () => void {
  addEventListener("hashchange", changed);
  return () => removeEventListener("hashchange", changed);
}

function parts(hash: string): string[] {
  const path = hash.replace(/^#\/?/, "").split("?", 1)[0] ?? "";
  return path
    .split("/")
    .filter(Boolean)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
}
