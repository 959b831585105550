import { CircleHelp } from "lucide-react";
import { Avatar } from "@/components/common";
import { ListRow } from "@/components/ListRow";
import { Badge } from "@/components/ui/badge";
import { type Item, type Talk, talkKey } from "@/lib/assistant/items";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { plain } from "@/lib/utils";

/** What each project is called where several are listed. */
type Names = ReadonlyMap<string, string>;

/** A question that waits for an answer, or a report for its confirmation. */
export function WaitingRow({ item, names, current }: { item: Item; names: Names; current: boolean }) {
  const t = useT();
  return (
    <ListRow
      to={href("questions", talkKey(item), item.id)}
      current={current}
      face={<Avatar name={item.agent || item.project} bot />}
      title={<Whose of={item} names={names} />}
      ms={item.asked}
      text={<span className="font-medium text-foreground">{plain(item.text)}</span>}
      marks={
        <Badge variant="solid">
          <CircleHelp aria-hidden />
          {t("waits")}
        </Badge>
      }
    />
  );
}

export function TalkRow({ talk, names, current }: { talk: Talk; names: Names; current: boolean }) {
  return (
    <ListRow
      to={href("questions", talk.key)}
      current={current}
      face={<Avatar name={talk.agent || talk.project} bot />}
      title={<Whose of={talk} names={names} />}
      ms={talk.latest}
      text={preview(talk)}
    />
  );
}

/** What was said last, and by whom. */
function preview(talk: Talk): string {
  const item = talk.items.at(-1);
  if (!item) return "";
  const said = item.kind === "message" ? item.text : item.contents.map((each) => each.text?.text ?? "").join(" ");
  if (!item.by || !said.trim()) return plain(item.text);
  return `${item.by}: ${plain(said)}`;
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
