import type { ReactNode } from "react";
import { Avatar, Time } from "@/components/common";
import { Markdown } from "@/components/Markdown";
import { Card } from "@/components/ui/card";

interface Props {
  from: string;
  bot: boolean;
  to: ReactNode;
  marks: ReactNode;
  ms: number;
  text: string;
  /** What comes with the letter. */
  children?: ReactNode;
}

/** A letter: from whom, to whom, when, and what it says. */
export function LetterCard({ from, bot, to, marks, ms, text, children }: Props) {
  return (
    <Card>
      <header className="flex items-start gap-2.5 px-4 pt-3">
        <Avatar name={from} bot={bot} small />
        <p className="flex min-w-0 flex-1 flex-wrap items-center gap-x-2 gap-y-1 text-[13px]">
          <span className="font-semibold">{from}</span>
          <span className="text-muted-foreground">→ {to}</span>
          {marks}
          <Time ms={ms} className="ml-auto text-xs text-muted-foreground" />
        </p>
      </header>
      <div className="px-4 pt-2 pb-3.5 pl-12.5">
        <Markdown text={text} />
        {children}
      </div>
    </Card>
  );
}
