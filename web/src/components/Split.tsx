import { ChevronLeft } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { useT } from "@/lib/i18n";
import { cn } from "@/lib/utils";

/** A list and what is open of it, side by side; on a phone one of them at a time. */
export function Split(props: {
  list: ReactNode;
  label: string;
  open: boolean;
  children: ReactNode;
  wide?: boolean;
}) {
  return (
    <div className="flex min-h-0 flex-1">
      <section
        aria-label={props.label}
        className={cn(
          "min-h-0 w-full flex-col border-r bg-surface md:flex",
          props.wide ? "md:w-72 lg:w-96" : "md:w-64 lg:w-80",
          "md:shrink-0",
          props.open ? "hidden" : "flex",
        )}
      >
        {props.list}
      </section>
      <div id="opened" tabIndex={-1} className={cn("min-h-0 min-w-0 flex-1 outline-none flex-col md:flex", props.open ? "flex" : "hidden")}>
        {props.children}
      </div>
    </div>
  );
}

export function Back({ to }: { to: string }) {
  const t = useT();
  return (
    <Button variant="ghost" size="icon" asChild className="-ml-2 md:hidden">
      <a href={to} aria-label={t("back")}>
        <ChevronLeft />
      </a>
    </Button>
  );
}

export function Bar({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <header className={cn("flex min-h-14 shrink-0 items-center gap-2 border-b bg-surface px-4 py-2", className)}>
      {children}
    </header>
  );
}
