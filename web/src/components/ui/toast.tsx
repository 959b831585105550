import { Prose } from "@/components/common";
import { Button } from "@/components/ui/button";
import { ApiError } from "@/lib/api";
import { cn } from "@/lib/utils";
import { Watched, useWatched } from "@/lib/watched";

interface Toast {
  id: number;
  text: string;
  hint: string;
  bad: boolean;
  action: Action | undefined;
}

interface Action {
  label: string;
  /** The key that does the same. */
  key: string;
  act: () => void;
}

const toasts = new Watched<readonly Toast[]>([]);
let number = 0;

interface Options {
  hint?: string;
  bad?: boolean;
  action?: Action;
}

/** Shows a text for some seconds; one with something to do about it until what is returned is called. */
export function toast(text: string, { hint = "", bad = false, action }: Options = {}): () => void {
  const id = ++number;
  const remove = () => toasts.set(toasts.get().filter((each) => each.id !== id));
  toasts.set([...toasts.get().slice(-3), { id, text, hint, bad, action }]);
  if (!action) setTimeout(remove, bad ? 9000 : 4000);
  return remove;
}

/** Says what went wrong and what to do next. */
export function toastError(error: unknown, unreachable: string): void {
  if (error instanceof ApiError && error.code !== "unreachable") toast(error.message, { hint: error.hint, bad: true });
  else toast(unreachable, { bad: true });
}

export function Toasts() {
  const shown = useWatched(toasts);
  return (
    <div
      // At the top: what one writes is at the bottom, on most pages.
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-3 top-14 z-50 flex flex-col items-center gap-2"
    >
      {shown.map((each) => (
        <div
          key={each.id}
          className={cn(
            "max-w-lg rounded-lg border bg-surface px-4 py-2.5 text-sm shadow-lg",
            each.bad && "border-destructive/60",
            each.action && "flex items-center gap-3 py-1.5 pr-1.5",
          )}
        >
          <p className={cn("font-medium [overflow-wrap:anywhere]", each.bad && "text-destructive")}>{each.text}</p>
          {each.action && (
            <Button
              variant="outline"
              size="sm"
              className="pointer-events-auto"
              title={each.action.key}
              aria-keyshortcuts={each.action.key}
              onClick={each.action.act}
            >
              {each.action.label}
            </Button>
          )}
          {each.hint && (
            <p className="mt-0.5 text-muted-foreground">
              <Prose text={each.hint} />
            </p>
          )}
        </div>
      ))}
    </div>
  );
}
