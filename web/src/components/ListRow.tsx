import type { ReactNode } from "react";
import { Time } from "@/components/common";
import { enter } from "@/lib/keys";
import { cn } from "@/lib/utils";

export const rowStyle =
  "flex w-full items-start gap-3 border-b border-border/60 px-4 py-3 text-left hover:bg-muted/70 focus-visible:-outline-offset-2 aria-[current=true]:bg-accent";

interface Props {
  to: string;
  current?: boolean;
  /** False where j and k have another list to walk through. */
  walked?: boolean;
  face?: ReactNode;
  title: ReactNode;
  titleStyle?: string;
  /** Milliseconds; without them, or with 0, no time is shown. */
  ms?: number | undefined;
  /** One line below the title, and what stands at its end. */
  text?: ReactNode;
  marks?: ReactNode;
  /** Whatever else stands below the title. */
  children?: ReactNode;
}

/** A line of a list that leads to what it tells of. */
export function ListRow({ to, current, walked = true, face, title, titleStyle, ms, text, marks, children }: Props) {
  return (
    <a
      data-row={walked || undefined}
      href={to}
      aria-current={current}
      className={rowStyle}
      onKeyDown={(event) => event.key === "Enter" && !event.ctrlKey && !event.metaKey && enter(to)}
    >
      {face}
      <span className="min-w-0 flex-1">
        <span className="flex items-baseline gap-2">
          <span className={cn("min-w-0 flex-1 truncate text-sm font-semibold", titleStyle)}>{title}</span>
          {ms ? <Time ms={ms} className="shrink-0 text-xs text-muted-foreground" /> : null}
        </span>
        {(text || marks) && (
          <span className="mt-0.5 flex min-h-5 items-center gap-1.5 text-[13px] text-muted-foreground">
            <span className="min-w-0 flex-1 truncate">{text}</span>
            {marks}
          </span>
        )}
        {children}
      </span>
    </a>
  );
}

/** A few lines of a text in which something was found. */
export function Excerpt({ children }: { children: ReactNode }) {
  return <span className="mt-0.5 line-clamp-3 text-[13px] [overflow-wrap:anywhere]">{children}</span>;
}
