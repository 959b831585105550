import { Ban, Check, Inbox, MailPlus, Send, ShieldAlert } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Empty, Loading, Problem } from "@/components/common";
import { Find } from "@/components/Find";
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

/** #/boxes/AGENT/BOX/ID */
export function BoxesPage({ place }: { place: string[] }) {
  const t = useT();
  const owners = useData<{ agents: Owner[]; types: string[] }>("/api/boxes", {}, (news) => news.room === "boxes");
  const [query, setQuery] = useState("");
  const [writing, setWriting] = useState(false);
  const agents = owners.value?.agents ?? [];
  const agent = place[0] ?? agents.find((each) => each.permitted)?.name;
  const box = BOXES.find((each) => each.name === place[1])?.name ?? "inbox";
  const open = place[2];
  const owner = agents.find((each) => each.name === agent);
  useKeys({ Escape: () => agent && go("boxes", agent, box), c: () => setWriting(true) });

  if (owners.error) return <Problem error={owners.error} retry={owners.reload} />;
  if (!owners.value) return <Loading />;
  if (!agent) return <Empty icon={<Inbox />} title={t("noBoxes")} text={t("noBoxesHint")} />;
  const usable = owner?.permitted && !owner.problem;
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
        {open && usable ? (
          <Thread key={open} agent={agent} id={open} box={box} types={owners.value.types} />
        ) : (
          <Empty icon={<Inbox />} title={t("chooseThread")} text={t("boxesHint")} />
        )}
      </Split>
      <Dialog open={writing} title={t("writeAs", { name: agent })} onClose={() => setWriting(false)}>
        <Write
          agent={agent}
          others={agents.map((each) => each.name).filter((name) => name !== agent)}
          types={owners.value.types}
          done={() => setWriting(false)}
        />
      </Dialog>
    </>
  );
}
