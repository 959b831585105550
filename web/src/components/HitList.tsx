import { type ReactNode, useEffect, useRef } from "react";
import { entered } from "@/lib/entered";
import { useWatched } from "@/lib/watched";

/** What was found. After Enter in the field the focus goes to the first of it. */
export function HitList({ query, children }: { query: string; children: ReactNode }) {
  const list = useRef<HTMLUListElement>(null);
  const wanted = useWatched(entered);
  useEffect(() => {
    if (wanted !== query) return;
    entered.set(undefined);
    list.current?.querySelector<HTMLElement>("[data-row]")?.focus();
  }, [wanted, query]);
  return (
    <ul ref={list} data-hits>
      {children}
    </ul>
  );
}
