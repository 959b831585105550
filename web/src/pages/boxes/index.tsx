import { Ban, Check, Inbox, MailPlus, Send, ShieldAlert } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Empty } from "@/components/common";
import { Find } from "@/components/Find";
import { Loaded } from "@/components/Loaded";
import { Bar, Split } from "@/components/Split";
import { Tabs } from "@/components/Tabs";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Select } from "@/components/ui/input";
import { useData } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { useKeys } from "@/lib/keys";
import { go, href } from "@/lib/router";
import { Found, Mails } from "@/pages/boxes/Mails";
import { Thread } from "@/pages/boxes/Thread";
import type { BoxName, Owner } from "@/pages/boxes/types";
import { Write } from "@/pages/boxes/Write";

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
export function BoxesPage({ place }: { place: string[] }) {
  const t = useT();
  const owners = useData<Owners>("/api/boxes", {}, (news) => news.room === "boxes");
  return (
    <Loaded data={owners}>
      {({ agents, types }) => {
        const agent = place[0] ?? (agents.find((each) => each.permitted) ?? agents[0])?.name;
        if (!agent) return <Empty icon={<Inbox />} title={t("noBoxes")} text={t("noBoxesHint")} />;
        const box = BOXES.find((each) => each.name === place[1])?.name ?? "inbox";
        return <BoxesOf agent={agent} agents={agents} types={types} box={box} open={place[2]} />;
      }}
    </Loaded>
  );
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
          <>
            <Bar>
              <h1 className="sr-only">{t("boxes")}</h1>
              <Select
                aria-label={t("actAs")}
                value={agent}
                className="min-w-0 flex-1"
                onChange={(event) => go("boxes", event.target.value, box)}
              >
                {agents.map((each) => (
                  <option key={each.name} value={each.name}>
                    {each.name}
                    {each.unread ? ` (${each.unread})` : ""}
                  </option>
                ))}
              </Select>
              <Button
                aria-label={t("write")}
                title={`${t("write")} (c)`}
                disabled={!usable}
                onClick={() => setWriting(true)}
              >
                <MailPlus />
              </Button>
            </Bar>
            <div className="flex shrink-0 gap-2 border-b px-4 py-2">
              <Find label={t("searchMail")} onFind={setQuery} />
            </div>
            <Tabs
              label={t("boxes")}
              tabs={BOXES.map((each) => ({ ...each, title: t(`box_${each.name}`) }))}
              current={box}
              link={(name) => href("boxes", agent, name)}
            />
            <div className="min-h-0 flex-1 overflow-y-auto">
              {!owner?.permitted ? (
                <Empty icon={<ShieldAlert />} title={t("notPermitted")} text={t("notPermittedHint")} />
              ) : owner.problem ? (
                <Empty icon={<ShieldAlert />} title={t("boxProblem")} text={owner.problem} />
              ) : query ? (
                <Found agent={agent} query={query} />
              ) : (
                <Mails agent={agent} box={box} current={open} />
              )}
            </div>
          </>
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
