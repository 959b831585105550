import { Search } from "lucide-react";
import { Avatar, Empty, Highlit, Loading } from "@/components/common";
import { Excerpt, ListRow } from "@/components/ListRow";
import { Badge } from "@/components/ui/badge";
import { type Item, type Talk, talkKey } from "@/lib/assistant/items";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { plain } from "@/lib/utils";

export function TalkRow({ talk, current }: { talk: Talk; current: boolean }) {
  const t = useT();
  return (
    <ListRow
      to={href("questions", talk.key)}
      current={current}
      face={<Avatar name={talk.agent || talk.project} bot />}
      title={
        <>
          {talk.agent || t("agent")} <span className="font-normal text-muted-foreground">{nameOf(talk.project)}</span>
        </>
      }
      ms={talk.latest}
      text={plain(talk.items.at(-1)?.text ?? "")}
      marks={talk.waiting > 0 && <Badge variant="solid">{talk.waiting}</Badge>}
    />
  );
}

export function Found({ items, query }: { items: readonly Item[] | undefined; query: string }) {
  const t = useT();
  if (!items) return <Loading />;
  if (!items.length) return <Empty icon={<Search />} title={t("nothingFound")} />;
  return (
    <ul>
      {items.map((item) => (
        <li key={item.id}>
          <ListRow
            to={href("questions", talkKey(item))}
            face={<Avatar name={item.agent || item.project} bot small />}
            title={item.agent || t("agent")}
            ms={item.asked}
          >
            <Excerpt>
              <Highlit text={item.text} word={query.split(/\s+/)[0] ?? ""} />
            </Excerpt>
          </ListRow>
        </li>
      ))}
    </ul>
  );
}

/** A project is known by its folder; the last part names it. */
function nameOf(project: string): string {
  return project.split(/[\\/]/).filter(Boolean).at(-1) ?? project;
}
