import { Avatar } from "@/components/common";
import { ListRow } from "@/components/ListRow";
import { Badge } from "@/components/ui/badge";
import { type Item, type Talk, isOpen } from "@/lib/assistant/items";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { plain } from "@/lib/utils";

/** What each project is called where several are listed. */
type Names = ReadonlyMap<string, string>;

export function TalkRow({ talk, names, current }: { talk: Talk; names: Names; current: boolean }) {
  return (
    <ListRow
      to={href("questions", talk.key)}
      current={current}
      face={<Avatar name={talk.agent || talk.project} bot />}
      title={<Whose of={talk} names={names} />}
      ms={talk.latest}
      text={plain((talk.items.find(isOpen) ?? talk.items.at(-1))?.text ?? "")}
      marks={talk.waiting > 0 && <Badge variant="solid">{talk.waiting}</Badge>}
    />
  );
}

/** The agent, and the project in which it works. */
export function Whose({ of, names }: { of: Pick<Item, "agent" | "project">; names: Names }) {
  const t = useT();
  return (
    <>
      {of.agent || t("agent")}{" "}
      <span data-project className="font-normal text-muted-foreground" title={of.project}>
        {names.get(of.project) ?? of.project}
      </span>
    </>
  );
}
