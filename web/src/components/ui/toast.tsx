import { useSyncExternalStore } from "react";
import { ApiError } from "@/lib/api";
import { cn } from "@/lib/utils";

interface Toast {
  id: number;
  text: string;
  hint: string;
  bad: boolean;
}

const watchers = new Set<() => void>();
let toasts: readonly Toast[] = [];
let number = 0;

export function toast(text: string, { hint = "", bad = false } = {}): void {
  const id = ++number;
  show([...toasts.slice(-3), { id, text, hint, bad }]);
  setTimeout(() => show(toasts.filter((each) => each.id !== id)), bad ? 9000 : 4000);
}

/** Says what went wrong and what to do next. */
export function toastError(error: unknown, unreachable: string): void {
  if (error instanceof ApiError && error.code !== "unreachable") toast(error.message, { hint: error.hint, bad: true });
  else toast(unreachable, { bad: true });
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    () => toasts,
  );
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-3 bottom-20 z-50 flex flex-col items-center gap-2 md:bottom-6"
    >
      {shown.map((each) => (
        <div
          key={each.id}
          className={cn(
            "max-w-lg rounded-lg border bg-surface px-4 py-2.5 text-sm shadow-lg",
            each.bad && "border-destructive/60",
          )}
        >
          <p className={cn("font-medium", each.bad && "text-destructive")}>{each.text}</p>
          {each.hint && <p className="mt-0.5 text-muted-foreground">{each.hint}</p>}
        </div>
      ))}
    </div>
  );
}

function show(next: readonly Toast[]): void {
  toasts = next;
  for (const watcher of watchers) watcher();
}
