import { useSyncExternalStore } from "react";

/** A value outside of React that views follow. */
export class Watched<T> {
  private readonly watchers = new Set<() => void>();

  constructor(private value: T) {}

  readonly get = (): T => this.value;

  set(value: T): void {
    this.value = value;
    for (const watcher of this.watchers) watcher();
  }

  readonly watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  };
}

export function useWatched<T>(watched: Watched<T>): T {
  return useSyncExternalStore(watched.watch, watched.get);
}
