import { useEffect, useEffectEvent, useState } from "react";
import { get } from "@/lib/api";
import { useConnected, useNews } from "@/lib/events";
import type { AnyPage } from "@/pages";

/** The first of the pages on which there is something; empty where there is nothing on any, undefined until that is known. */
export function useFilled(pages: readonly AnyPage[]): string | undefined {
  const [filled, setFilled] = useState<string>();
  const look = useEffectEvent(async (left?: AbortSignal) => {
    const found = await firstOf(pages, left);
    if (!left?.aborted) setFilled(found);
  });
  useEffect(() => {
    const left = new AbortController();
    void look(left.signal);
    return () => left.abort();
  }, []);
  useNews(() => void look());
  useConnected(() => void look());
  return filled;
}

async function firstOf(pages: readonly AnyPage[], left?: AbortSignal): Promise<string> {
  for (const { name, listed } of pages) {
    if (!listed) continue;
    try {
      const answer = await get<Record<string, unknown[]>>(listed.path, {}, left);
      if (answer[listed.field]?.length) return name;
    } catch {
      return name; // it says what is wrong
    }
  }
  return "";
}
