import type { ReactNode } from "react";
import { cn } from "@/lib/utils";

interface Tab {
  name: string;
  title: string;
  icon: ReactNode;
}

/** Links to the parts of a list, one of which is shown. */
export function Tabs(props: { label: string; tabs: Tab[]; current: string; link: (name: string) => string }) {
  return (
    <nav aria-label={props.label} className="flex shrink-0 flex-wrap gap-0.5 border-b px-3 py-1.5">
      {props.tabs.map((tab) => (
        <a
          key={tab.name}
          href={props.link(tab.name)}
          aria-current={tab.name === props.current ? "page" : undefined}
          className={cn(
            "flex items-center gap-1 rounded-md px-2 py-1.5 text-[13px] font-medium whitespace-nowrap [&_svg]:size-4",
            tab.name === props.current ? "bg-accent text-accent-foreground" : "text-muted-foreground hover:bg-muted",
          )}
        >
          {tab.icon}
          {tab.title}
        </a>
      ))}
    </nav>
  );
}
