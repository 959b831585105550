import { Bot, CircleAlert } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Button } from "@/components/ui/button";
import type { ApiError } from "@/lib/api";
import { type Key, useLanguage, useT } from "@/lib/i18n";
import { cn, hue, initials } from "@/lib/utils";

export function Avatar({ name, bot = false, small = false }: { name: string; bot?: boolean; small?: boolean }) {
  const angle = hue(name);
  return (
    <span
      aria-hidden
      className={cn(
        "flex shrink-0 items-center justify-center font-semibold text-white select-none",
        small ? "size-6 text-[10px]" : "size-9 text-xs",
        bot ? "rounded-lg" : "rounded-full",
      )}
      style={{ background: `oklch(0.5 0.11 ${angle})` }}
    >
      {bot ? <Bot className={small ? "size-3.5" : "size-5"} /> : initials(name)}
    </span>
  );
}

interface EmptyProps {
  icon: ReactNode;
  title: string;
  /** What stands between ` is shown as code. */
  text?: string | undefined;
  children?: ReactNode;
}

export function Empty({ icon, title, text, children }: EmptyProps) {
  return (
    <div className="flex h-full flex-col items-center justify-center gap-2 p-8 text-center text-muted-foreground">
      <span className="[&_svg]:size-9 [&_svg]:opacity-60">{icon}</span>
      <p className="font-medium text-foreground">{title}</p>
      {text && (
        <p className="max-w-sm text-sm">
          <Prose text={text} />
        </p>
      )}
      {children}
    </div>
  );
}

export function Problem({ error, retry }: { error: ApiError; retry?: () => void }) {
  const t = useT();
  const unreachable = error.code === "unreachable";
  return (
    <div
      role="alert"
      className={cn(
        "m-3 flex items-start gap-2.5 rounded-lg border border-destructive/50 p-3 text-sm",
        unreachable && "group-has-data-away/main:hidden in-data-away:flex!", // told once, above the page
      )}
    >
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-destructive" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{unreachable ? t("unreachable") : error.message}</p>
        <p className="text-muted-foreground">
          <Prose text={unreachable ? t("unreachableHint") : error.hint} />
        </p>
      </div>
      {retry && (
        <Button variant="outline" size="sm" onClick={retry}>
          {t("again")}
        </Button>
      )}
    </div>
  );
}

export function Loading() {
  const t = useT();
  return (
    <div className="flex flex-col gap-3 p-4" role="status">
      <span className="sr-only">{t("loading")}</span>
      {[70, 45, 85, 60].map((width) => (
        <div key={width} className="h-9 animate-pulse rounded-lg bg-muted" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

/** The time on a clock of now, of what was today; else the day as well. `label` says what it is the time of. */
export function Time({ ms, label, className }: { ms: number; label?: string; className?: string }) {
  const language = useLanguage();
  const date = new Date(ms);
  if (isNaN(ms)) return null; // somebody else's program wrote it
  const full = date.toLocaleString(language);
  return (
    <time dateTime={date.toISOString()} title={label ? `${label}: ${full}` : full} className={className}>
      {label && <span className="sr-only">{label} </span>}
      {shortTime(date, language)}
    </time>
  );
}

function shortTime(date: Date, language: string): string {
  const now = new Date();
  const clock = date.toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", hour12: false });
  if (date.toDateString() === now.toDateString()) return clock;
  const day = date.toLocaleDateString(language, {
    month: "short",
    day: "numeric",
    ...(date.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }),
  });
  return `${day} ${clock}`;
}

/** A number that is counted anew every second. */
export function useNow(every = 1000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

export function useSpan(): (seconds: number) => string {
  const t = useT();
  return (seconds) => {
    const units: [number, Key][] = [
      [86_400, "days"],
      [3600, "hours"],
      [60, "minutes"],
    ];
    // Two of a unit are said in the smaller one: 100 s are neither 1 min nor 2 min.
    for (const [length, key] of units) if (seconds > 2 * length) return t(key, { n: Math.round(seconds / length) });
    return t("seconds", { n: Math.max(0, Math.round(seconds)) });
  };
}

/** Text in which what stands between ` is a command or a name to type. */
export function Prose({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((part, index) =>
        index % 2 ? (
          <code key={index} className="rounded bg-muted box-decoration-clone px-1 py-0.5 text-[0.9em]">
            {part}
          </code>
        ) : (
          part
        ),
      )}
    </>
  );
}

/** Text in which what stands between ** is marked. */
export function Marked({ text }: { text: string }) {
  return (
    <>
      {text.split("**").map((part, index) =>
        index % 2 ? (
          <mark key={index} className="rounded-sm bg-warning-soft px-0.5 text-warning">
            {part}
          </mark>
        ) : (
          part
        ),
      )}
    </>
  );
}

/** Text in which a word is marked wherever it stands. */
export function Highlit({ text, word }: { text: string; word: string }) {
  const at = word ? text.toLowerCase().indexOf(word.toLowerCase()) : -1;
  if (at < 0) return <>{text}</>;
  const start = Math.max(0, at - 40);
  const shown = (start ? "…" : "") + text.slice(start, at);
  return (
    <>
      {shown}
      <mark className="rounded-sm bg-warning-soft px-0.5 text-warning">{text.slice(at, at + word.length)}</mark>
      {text.slice(at + word.length, at + 160)}
    </>
  );
}
