// What the tab keeps when its page is loaded anew, and what it cannot keep.

const PREFIX = "nanobot-transcript.kept.";

/** What `keep` was given under the name, by key; nothing where the browser keeps nothing. */
export function kept<T>(name: string): [string, T][] {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + name) ?? "[]") as [string, T][];
  } catch {
    return [];
  }
}

let isOver = false;

/** Without storage, or in a full one, the values last as long as the page. */
export function keep(name: string, values: [string, unknown][]): void {
  if (isOver) return;
  try {
    if (values.length) sessionStorage.setItem(PREFIX + name, JSON.stringify(values));
    else sessionStorage.removeItem(PREFIX + name);
  } catch {
    // See above.
  }
}

/** Forgets everything that was kept. Throws where there is no storage. */
export function forgetKept(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
}

/** What comes until the page is gone belongs to the token before. */
export function keepNoMore(): void {
  isOver = true;
}

/** Lets the browser ask before the page is left, as long as something would be lost. */
export function askBeforeLeaving(wouldLose: () => boolean): void {
  addEventListener("beforeunload", (event) => {
    if (wouldLose()) event.preventDefault();
  });
}
