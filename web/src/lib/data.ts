import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, address, get } from "@/lib/api";
import { type News, useConnected, useNews } from "@/lib/events";

export interface Data<T> {
  value: T | undefined;
  /** Why the last request failed; what an earlier one brought is still in `value`. */
  error: ApiError | undefined;
  reload: () => void;
}

type Values = Parameters<typeof address>[1];

/**
 * What the hub answers to a request, asked again whenever there is news that concerns it, and once there is a
 * connection again.
 */
export function useData<T>(path: string, values: Values, concerns: (news: News) => boolean): Data<T> {
  const key = address(path, values);
  const [state, setState] = useState<{ key: string; value?: T; error?: ApiError }>();
  const ask = useRef(() => {});

  useEffect(() => {
    const left = new AbortController();
    let busy = false;
    let again = false;
    const load = async () => {
      again = busy; // one request at a time, and one more for whatever is new meanwhile
      if (busy) return;
      busy = true;
      do {
        again = false;
        try {
          const value = await get<T>(key, {}, left.signal);
          if (left.signal.aborted) return;
          setState({ key, value });
        } catch (error) {
          if (left.signal.aborted) return;
          setState((before) => ({ ...(before?.key === key ? before : {}), key, error: error as ApiError }));
        }
      } while (again);
      busy = false;
    };
    ask.current = () => void load();
    void load();
    return () => left.abort();
  }, [key]);

  useNews((news) => {
    if (news.room === "*" || concerns(news)) ask.current();
  });

  const fresh = state?.key === key ? state : undefined;
  useConnected(() => {
    if (fresh?.error?.code === "unreachable") ask.current();
  });

  const reload = useCallback(() => ask.current(), []);
  return { value: fresh?.value, error: fresh?.error, reload };
}
