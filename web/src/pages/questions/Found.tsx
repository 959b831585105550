import { Search } from "lucide-react";
import { useMemo } from "react";
import { Avatar, Empty, Loading } from "@/components/common";
import { HitList } from "@/components/HitList";
import { Excerpt, ListRow } from "@/components/ListRow";
import { type Item, talkKey } from "@/lib/assistant/items";
import { type Piece, excerptOf } from "@/lib/assistant/words";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { plain } from "@/lib/utils";
import { Whose } from "@/pages/questions/Talks";

interface Props {
  items: readonly Item[] | undefined;
  query: string;
  names: ReadonlyMap<string, string>;
  /** The id of what is open. */
  current: string | undefined;
}

/** What was found in the history; each leads to where it was said. */
export function Found({ items, query, names, current }: Props) {
  const t = useT();
  if (!items) return <Loading />;
  if (!items.length) return <Empty icon={<Search />} title={t("nothingFound")} />;
  return (
    <HitList query={query}>
      {items.map((item) => (
        <li key={item.id}>
          <ListRow
            to={href("questions", talkKey(item), item.id)}
            current={item.id === current}
            face={<Avatar name={item.agent || item.project} bot small />}
            title={<Whose of={item} names={names} />}
            ms={item.asked}
          >
            <Hit item={item} query={query} />
          </ListRow>
        </li>
      ))}
    </HitList>
  );
}

function Hit({ item, query }: { item: Item; query: string }) {
  const t = useT();
  const { text, contents } = item;
  const asked = useMemo(() => excerptOf(text, query), [text, query]);
  const answer = useMemo(
    () => excerptOf(contents.map((each) => each.text?.text ?? "").join("\n"), query),
    [contents, query],
  );
  const state = item.state === "refused" ? "refused" : "answered";
  const who = item.by ? t(`${state}By`, { name: item.by }) : t(state);
  return (
    <>
      <Excerpt>
        <Pieces pieces={asked.pieces} />
      </Excerpt>
      {answer.found && (
        <Excerpt>
          <span className="text-muted-foreground">{who}: </span>
          <Pieces pieces={answer.pieces} />
        </Excerpt>
      )}
    </>
  );
}

function Pieces({ pieces }: { pieces: readonly Piece[] }) {
  return pieces.map(({ text, marked }, index) =>
    marked ? (
      <mark key={index} className="rounded-sm bg-warning-soft px-0.5 text-warning">
        {text}
      </mark>
    ) : (
      plain(text)
    ),
  );
}
