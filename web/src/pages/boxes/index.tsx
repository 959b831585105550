import { Ban, Check, Inbox, Send, ShieldAlert } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Empty } from "@/components/common";
import { LetterList } from "@/components/LetterList";
import { Loaded } from "@/components/Loaded";
import { Split } from "@/components/Split";
import { Dialog } from "@/components/ui/dialog";
import { useData } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { useKeys } from "@/lib/keys";
import type { Page } from "@/lib/page";
import { go, href, leadOn } from "@/lib/router";
import { Found, Mails } from "@/pages/boxes/Mails";
import { Thread } from "@/pages/boxes/Thread";
import type { BoxName, Owner } from "@/pages/boxes/types";
import * as words from "@/pages/boxes/words";
import { Write } from "@/pages/boxes/Write";

export const boxes: Page<typeof words> = {
  name: "boxes",
  words,
  title: "boxes",
  about: "about_boxes",
  icon: <Inbox />,
  show: (place) => <BoxesPage place={place} />,
  listed: { path: "/api/boxes", field: "agents" },
};

const BOXES: { name: BoxName; icon: ReactNode }[] = [
  { name: "inbox", icon: <Inbox /> },
  { name: "outbox", icon: <Send /> },
  { name: "done", icon: <Check /> },
  { name: "cancel", icon: <Ban /> },
];

interface Owners {
  agents: Owner[];
  types: string[];
}

/** #/boxes/AGENT/BOX/ID */
function BoxesPage({ place }: { place: string[] }) {
  const t = useT();
  const owners = useData<Owners>("/api/boxes", {}, (news) => news.room === "boxes");
  const first = firstOf(owners.value?.agents ?? [])?.name;
  useEffect(() => {
    if (!place.length && first) leadOn("boxes", first); // it stays there, wherever mail arrives next
  }, [place.length, first]);
  return (
    <Loaded data={owners}>
      {({ agents, types }) => {
        const agent = place[0] ?? first;
        if (!agent) return <Empty icon={<Inbox />} title={t("noBoxes")} text={t("noBoxesHint")} />;
        const box = BOXES.find((each) => each.name === place[1])?.name ?? "inbox";
        return <BoxesOf agent={agent} agents={agents} types={types} box={box} open={place[2]} />;
      }}
    </Loaded>
  );
}

/** Whose mailbox is opened: where most mail is unread, else the first that a person may act for. */
function firstOf(agents: readonly Owner[]): Owner | undefined {
  const usable = agents.filter((each) => each.permitted);
  const [fullest] = usable.toSorted((one, other) => (other.unread ?? 0) - (one.unread ?? 0));
  return fullest ?? agents[0];
}

function BoxesOf(props: Owners & { agent: string; box: BoxName; open: string | undefined }) {
  const { agent, agents, types, box, open } = props;
  const t = useT();
  const [query, setQuery] = useState("");
  const [writing, setWriting] = useState(false);
  const owner = agents.find((each) => each.name === agent);
  const usable = owner?.permitted && !owner.problem;
  useKeys({ Escape: () => go("boxes", agent, box), c: () => usable && setWriting(true) });

  return (
    <>
      <Split
        label={t("boxes")}
        open={open !== undefined}
        wide
        list={
          <LetterList
            title={t("boxes")}
            whose={{
              label: t("actAs"),
              current: agent,
              all: agents.map(({ name, unread }) => ({ name, shown: unread ? `${name} (${unread})` : name })),
              choose: (name) => go("boxes", name, box),
            }}
            write={usable ? () => setWriting(true) : undefined}
            onFind={setQuery}
            tabs={{
              label: t("boxes"),
              tabs: BOXES.map((each) => ({ ...each, title: t(`box_${each.name}`) })),
              current: box,
              link: (name) => href("boxes", agent, name),
            }}
          >
            {!owner?.permitted ? (
              <Empty icon={<ShieldAlert />} title={t("notPermitted")} text={t("notPermittedHint")} />
            ) : owner.problem ? (
              <Empty icon={<ShieldAlert />} title={t("boxProblem")} text={owner.problem} />
            ) : query ? (
              <Found agent={agent} query={query} current={open} />
            ) : (
              <Mails agent={agent} box={box} current={open} />
            )}
          </LetterList>
        }
      >
        {usable &&
          (open ? (
            <Thread key={`${agent} ${open}`} agent={agent} id={open} box={box} types={types} />
          ) : (
            <Empty icon={<Inbox />} title={t("chooseThread")} text={t("boxesHint")} />
          ))}
      </Split>
      <Dialog open={writing} title={t("writeAs", { name: agent })} onClose={() => setWriting(false)}>
        <Write
          agent={agent}
          others={agents.map((each) => each.name).filter((name) => name !== agent)}
          types={types}
          done={() => setWriting(false)}
        />
      </Dialog>
    </>
  );
}
