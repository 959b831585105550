import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, address, get } from "@/lib/api";
import { type News, useNews } from "@/lib/events";

interface Data<T> {
  value: T | undefined;
  error: ApiError | undefined;
  reload: () => void;
}

type Values = Parameters<typeof address>[1];

/**
 * What the hub answers to a request, asked again whenever there is news that concerns it. A null path asks nothing.
 */
export function useData<T>(path: string | null, values: Values, concerns: (news: News) => boolean): Data<T> {
  const key = path === null ? null : address(path, values);
  const [state, setState] = useState<{ key: string | null; value?: T; error?: ApiError }>({ key: null });
  const current = useRef(key);
  current.current = key;
  const busy = useRef<{ key: string; again: boolean } | null>(null);

  const load = useCallback(async (wanted: string) => {
    if (busy.current?.key === wanted) {
      busy.current.again = true;
      return;
    }
    const mine = { key: wanted, again: false };
    busy.current = mine;
    do {
      mine.again = false;
      try {
        const value = await get<T>(wanted);
        if (current.current === wanted) setState({ key: wanted, value });
      } catch (error) {
        if (current.current === wanted) {
          setState((before) => ({ ...(before.key === wanted ? before : {}), key: wanted, error: error as ApiError }));
        }
      }
    } while (mine.again && current.current === wanted);
    if (busy.current === mine) busy.current = null;
  }, []);

  useEffect(() => {
    if (key !== null) void load(key);
  }, [key, load]);

  useNews((news) => {
    if (key !== null && (news.room === "*" || concerns(news))) void load(key);
  });

  const reload = useCallback(() => {
    if (current.current !== null) void load(current.current);
  }, [load]);
  const fresh = state.key === key;
  return { value: fresh ? state.value : undefined, error: fresh ? state.error : undefined, reload };
}
