import { useEffect, useEffectEvent, useState } from "react";
import { get } from "@/lib/api";
import { useConnected, useNews } from "@/lib/events";

/** What the hub says of the things that a page lists. */
const LISTS = [
  { page: "groups", path: "/api/groups", list: "chats" },
  { page: "mail", path: "/api/mail/projects", list: "projects" },
  { page: "boxes", path: "/api/boxes", list: "agents" },
  { page: "io", path: "/api/io", list: "sessions" },
];

/** The first of the pages on which there is something; empty where there is nothing on any, undefined until that is known. */
export function useFilled(pages: readonly string[]): string | undefined {
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

async function firstOf(pages: readonly string[], left?: AbortSignal): Promise<string> {
  for (const { page, path, list } of LISTS) {
    if (!pages.includes(page)) continue;
    try {
      const answer = await get<Record<string, unknown[]>>(path, {}, left);
      if (answer[list]?.length) return page;
    } catch {
      return page; // it says what is wrong
    }
  }
  return "";
}
