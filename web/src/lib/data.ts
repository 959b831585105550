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
  return useAsked(key, (left) => get<T>(key, {}, left), concerns);
}

/** An answer that may not hold all, and where to read on. */
export interface Page {
  more?: number;
  before?: string | null;
  next_offset?: number;
}

export interface Pages<T> extends Data<T[]> {
  /** Read one page further. */
  showMore: () => void;
}

/** How many rows the hub gives at a time, behind those it gave at first. */
const MOST = 1000;

/** The same for a long list: its first page, and as many further ones as somebody has asked for. */
export function usePages<T extends Page>(path: string, values: Values, concerns: (news: News) => boolean): Pages<T> {
  const key = address(path, values);
  const wanted = useRef(1);
  useEffect(() => {
    wanted.current = 1;
  }, [key]);
  const load = async (left: AbortSignal) => {
    const pages: T[] = [];
    let behind: Values | undefined = {};
    while (behind && pages.length < wanted.current) {
      const page: T = await get<T>(address(path, { ...values, ...behind }), {}, left);
      pages.push(page);
      behind = readOn(page);
    }
    return pages;
  };
  const data = useAsked(key, load, concerns);
  const showMore = () => {
    wanted.current += 1;
    data.reload();
  };
  return { ...data, showMore };
}

function readOn({ before, next_offset: offset }: Page): Values | undefined {
  if (before) return { before, limit: MOST };
  return offset === undefined ? undefined : { offset, limit: MOST };
}

function useAsked<T>(key: string, load: (left: AbortSignal) => Promise<T>, concerns: (news: News) => boolean): Data<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: ApiError }>();
  const ask = useRef(() => {});

  useEffect(() => {
    const left = new AbortController();
    let busy = false;
    let again = false;
    const reload = async () => {
      again = busy; // one request at a time, and one more for whatever is new meanwhile
      if (busy) return;
      busy = true;
      do {
        again = false;
        try {
          const value = await load(left.signal);
          if (left.signal.aborted) return;
          setState({ key, value });
        } catch (error) {
          if (left.signal.aborted) return;
          setState((before) => ({ ...(before?.key === key ? before : {}), key, error: error as ApiError }));
        }
      } while (again);
      busy = false;
    };
    ask.current = () => void reload();
    void reload();
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
