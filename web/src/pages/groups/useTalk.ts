import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, get } from "@/lib/api";
import { useConnected, useNews } from "@/lib/events";
import type { Message, MessagePage, News } from "@/pages/groups/types";

export interface Talk {
  messages: Message[] | undefined;
  older: string | null;
  error: ApiError | undefined;
  loadOlder: () => Promise<void>;
  reload: () => void;
}

/** The messages of a chat: the newest at first, older ones when asked for, and what is said meanwhile. */
export function useTalk(chat: string): Talk {
  const [messages, setMessages] = useState<Message[]>();
  const [older, setOlder] = useState<string | null>(null);
  const [error, setError] = useState<ApiError>();
  const newer = useRef<string | null>(null);
  const busy = useRef(false);
  const again = useRef(false);
  const loading = useRef(false);

  const reload = useCallback(async () => {
    try {
      const page = await get<MessagePage>("/api/groups/messages", { chat });
      newer.current = page.newer;
      setMessages(page.messages);
      setOlder(page.older);
      setError(undefined);
    } catch (found) {
      setError(found as ApiError);
    }
  }, [chat]);
  useEffect(() => void reload(), [reload]);

  const catchUp = useCallback(async () => {
    if (newer.current === null) return reload();
    if (busy.current) {
      again.current = true;
      return;
    }
    busy.current = true;
    try {
      do {
        again.current = false;
        const news: News = await get<News>("/api/groups/news", { chat, after: newer.current });
        if (news.reload) await reload();
        else {
          newer.current = news.newer;
          setMessages((before) => joined(before ?? [], news));
        }
        if (news.more) again.current = true;
      } while (again.current);
      setError(undefined);
    } catch (found) {
      setError(found as ApiError);
    } finally {
      busy.current = false;
    }
  }, [chat, reload]);

  useNews((news) => {
    if (news.room === "*") void catchUp();
    if (news.room === "groups" && news.what === "messages" && news.chat === chat) void catchUp();
  });

  useConnected(() => {
    if (error?.code === "unreachable") void catchUp();
  });

  const loadOlder = useCallback(async () => {
    if (older === null || loading.current) return;
    loading.current = true;
    try {
      const page = await get<MessagePage>("/api/groups/messages", { chat, before: older });
      setOlder(page.older);
      setMessages((before) => [...page.messages, ...(before ?? [])]);
    } catch (found) {
      setError(found as ApiError);
    } finally {
      loading.current = false;
    }
  }, [chat, older]);

  return { messages, older, error, loadOlder, reload: () => void reload() };
}

function joined(before: Message[], news: News): Message[] {
  const changed = new Map((news.changed ?? []).map((message) => [message.id, message]));
  const recalled = new Set(news.recalled ?? []);
  const known = new Set(before.map((message) => message.id));
  const kept = before.map((message) => {
    if (recalled.has(message.id ?? "")) return { ...message, text: "", recalled: true };
    return changed.get(message.id) ?? message;
  });
  const added = news.messages.filter((message) => message.id === null || !known.has(message.id));
  const all = [...kept, ...added];
  return added.length ? all.sort((one, other) => one.ts - other.ts) : all;
}
