// Places in the address behind "#": page/part/part. It works the same wherever the hub is mounted.

import { useEffect, useMemo, useState, useSyncExternalStore } from "react";

export function usePlace(): string[] {
  const hash = useSyncExternalStore(watch, () => location.hash);
  return useMemo(() => parts(hash), [hash]);
}

export function href(...place: string[]): string {
  return `#/${place.map(encodeURIComponent).join("/")}`;
}

/** From the bare address of a page to a place in it, unless the address has changed since the page was drawn. */
export function leadOn(page: string, to: string): void {
  const [current = page, wanted] = parts(location.hash);
  if (current === page && !wanted) location.replace(href(page, to));
}

export function go(...place: string[]): void {
  location.hash = href(...place);
}

/** `go` for when what was asked of the hub is done, unless the person has gone somewhere else meanwhile. */
export function goLater(): typeof go {
  const asked = location.hash;
  return (...place) => {
    if (location.hash === asked) go(...place);
  };
}

/** Changes with each click on a link to where the page is already: the address does not change then. */
export function useAgain(): number {
  const [times, setTimes] = useState(0);
  useEffect(() => {
    const clicked = (event: MouseEvent) => {
      const link = event.target instanceof Element && event.target.closest("a");
      if (link && link.href === location.href) setTimes((before) => before + 1);
    };
    addEventListener("click", clicked);
    return () => removeEventListener("click", clicked);
  }, []);
  return times;
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
