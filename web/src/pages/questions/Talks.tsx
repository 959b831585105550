import { Search } from "lucide-react";
import { Avatar, Empty, Highlit, Time } from "@/components/common";
import { rowStyle } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import type { Item, Talk } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";

export function TalkRow({ talk, current }: { talk: Talk; current: boolean }) {
  const t = useT();
  const last = talk.items.at(-1);
  return (
    <a data-row href={href("questions", talk.key)} aria-current={current} className={rowStyle}>
      <Avatar name={talk.agent || talk.project} bot />
      <span className="min-w-0 flex-1">
        <span className="flex items-baseline gap-2">
          <span className="min-w-0 flex-1 truncate text-sm font-semibold">
            {talk.agent || t("agent")} <span className="font-normal text-muted-foreground">{projectName(talk.project)}</span>
          </span>
          <Time ms={talk.latest} className="shrink-0 text-xs text-muted-foreground" />
        </span>
        <span className="mt-0.5 flex items-center gap-2 text-[13px] text-muted-foreground">
          <span className="min-w-0 flex-1 truncate">{last?.text.replace(/\*\*|`/g, "")}</span>
          {talk.waiting > 0 && <Badge variant="solid">{talk.waiting}</Badge>}
        </span>
      </span>
    </a>
  );
}

export function Found({ items, query }: { items: readonly Item[] | undefined; query: string }) {
  const t = useT();
  if (!items) return null;
  if (!items.length) return <Empty icon={<Search />} title={t("nothingFound")} />;
  return (
    <ul>
      {items.map((item) => (
        <li key={item.id}>
          <a data-row href={href("questions", JSON.stringify([item.project, item.agent]))} className={rowStyle}>
            <Avatar name={item.agent || item.project} bot small />
            <span className="min-w-0 flex-1">
              <span className="flex items-baseline gap-2 text-[13px]">
                <span className="min-w-0 flex-1 truncate font-semibold">{item.agent || t("agent")}</span>
                <Time ms={item.asked} className="shrink-0 text-xs text-muted-foreground" />
              </span>
              <span className="mt-0.5 line-clamp-3 text-[13px] [overflow-wrap:anywhere]">
                <Highlit text={item.text} word={query.split(/\s+/)[0] ?? ""} />
              </span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function projectName(path: string): string {
  return path.split(/[\\/]/).filter(Boolean).at(-1) ?? path;
}
