// The one stream of news. It is read with fetch, as EventSource cannot send a token in a header.

import { useEffect, useEffectEvent } from "react";
import { headers, refusal } from "@/lib/api";
import { Watched, useWatched } from "@/lib/watched";

export interface News {
  room: string;
  what?: string;
  chat?: string;
  agent?: string;
}

export type Connection = "connecting" | "live" | "offline";

/** What is told when everything may have changed. */
const EVERYTHING: News = { room: "*" };

const SHORTEST = 500;
const LONGEST = 15_000;
const SILENT = 40_000;

const listeners = new Set<(news: News) => void>();
const connection = new Watched<Connection>("connecting");
let last = "";
let running = false;

export function startEvents(): void {
  if (running) return;
  running = true;
  void run();
}

async function run(): Promise<void> {
  let pause = SHORTEST;
  for (;;) {
    try {
      await read(() => {
        pause = SHORTEST;
      });
    } catch {
      // Whatever it was: wait, then try again.
    }
    connection.set(connection.get() === "live" ? "connecting" : "offline");
    await wait(pause * (0.75 + Math.random() / 2));
    pause = Math.min(pause * 2, LONGEST);
  }
}

async function read(opened: () => void): Promise<void> {
  const stop = new AbortController();
  let timer = setTimeout(() => stop.abort(), SILENT);
  try {
    const answer = await fetch("./api/events", {
      headers: { ...headers(), ...(last ? { "Last-Event-ID": last } : {}) },
      signal: stop.signal,
      cache: "no-store",
    });
    if (!answer.ok) throw await refusal(answer);
    if (!answer.body) return;
    opened();
    connection.set("live");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), SILENT);
      const parts = (rest + value).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) take(part);
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

function take(text: string): void {
  let kind = "";
  let data = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("id: ")) last = line.slice(4);
    else if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data = line.slice(6);
  }
  if (kind === "news") tell(JSON.parse(data) as News);
  else if (kind === "reload") tell(EVERYTHING);
}

function tell(news: News): void {
  for (const listener of [...listeners]) listener(news);
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
  });
}

export function useNews(call: (news: News) => void): void {
  const heard = useEffectEvent(call);
  useEffect(() => {
    const listener = (news: News) => heard(news);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
}

export function useConnection(): Connection {
  return useWatched(connection);
}

/** Calls once there is a connection, and each time that there is one again. */
export function useConnected(call: () => void): void {
  const current = useConnection();
  const connected = useEffectEvent(call);
  useEffect(() => {
    if (current === "live") connected();
  }, [current]);
}
