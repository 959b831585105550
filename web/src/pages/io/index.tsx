import { ArrowDownToLine, Cable, SendHorizontal } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Empty, Time } from "@/components/common";
import { ListRow } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { Log } from "@/components/Log";
import { SendBar } from "@/components/SendBar";
import { Back, Bar, Split } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { toast } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { talkKey } from "@/lib/assistant/items";
import { useData } from "@/lib/data";
import { useDoing } from "@/lib/doing";
import type { News } from "@/lib/events";
import { useT } from "@/lib/i18n";
import { toWrite, useKeys } from "@/lib/keys";
import type { Page } from "@/lib/page";
import { go, href } from "@/lib/router";
import { cn } from "@/lib/utils";
import * as words from "@/pages/io/words";

export const io: Page<typeof words> = {
  name: "io",
  words,
  title: "io",
  about: "about_io",
  icon: <Cable />,
  show: (place) => <IoPage place={place} />,
  listed: { path: "/api/io", field: "sessions" },
};

interface Session {
  id: string;
  active_ts: number;
  inputs: number;
  unconfirmed: number;
  outputs: number;
  waiting_agents: number;
  waiting_readers: number;
}
interface Queued {
  seq: number;
  direction: "in" | "out";
  text: string;
  size: number;
  created_ts: number;
  state: "queued" | "handed" | "delivered";
}

/** Who waits in a session for what people write to it, too. */
interface Agent {
  project: string;
  agent: string;
}

const ofBridge = (news: News) => news.room === "io";

/** #/io/SESSION */
function IoPage({ place }: { place: string[] }) {
  const t = useT();
  const sessions = useData<{ sessions: Session[] }>("/api/io", {}, ofBridge);
  const [name, setName] = useState("");
  const open = place[0];
  const hasSessions = (sessions.value?.sessions.length ?? 0) > 0;
  useKeys({ Escape: () => go("io"), c: toWrite });
  return (
    <Split
      label={t("io")}
      open={open !== undefined}
      list={
        <>
          <Bar>
            <h1 className="sr-only">{t("io")}</h1>
            <Input
              data-search
              value={name}
              aria-label={t("openSession")}
              placeholder={t("openSession")}
              onChange={(event) => setName(event.target.value)}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || !name.trim()) return;
                go("io", name.trim());
                setName("");
              }}
            />
          </Bar>
          <div className="min-h-0 flex-1 overflow-y-auto">
            <Loaded data={sessions}>
              {({ sessions: known }) =>
                known.length ? (
                  <ul>
                    {known.map((session) => (
                      <li key={session.id}>
                        <ListRow
                          to={href("io", session.id)}
                          current={session.id === open}
                          title={session.id}
                          titleStyle="font-mono font-normal"
                          ms={session.active_ts * 1000}
                        >
                          <span className="mt-1 flex flex-wrap gap-1.5">
                            <Badge>{t("inputCount", { n: session.inputs })}</Badge>
                            <Badge variant={session.outputs ? "solid" : "default"}>
                              {t("outputCount", { n: session.outputs })}
                            </Badge>
                            {session.waiting_agents > 0 && <Badge variant="positive">{t("agentWaits")}</Badge>}
                          </span>
                        </ListRow>
                      </li>
                    ))}
                  </ul>
                ) : (
                  <Empty icon={<Cable />} title={t("noSessions")} text={t("noSessionsHint")} />
                )
              }
            </Loaded>
          </div>
        </>
      }
    >
      {open ? (
        <Queue key={open} session={open} />
      ) : (
        hasSessions && <Empty icon={<Cable />} title={t("chooseSession")} text={t("ioHint")} />
      )}
    </Split>
  );
}

function Queue({ session }: { session: string }) {
  const t = useT();
  const queue = useData<{ items: Queued[]; agents: Agent[] }>("/api/io/queue", { session }, ofBridge);
  const [taken, setTaken] = useState<{ seq: number; text: string }[]>([]);
  const [busy, doing] = useDoing();
  const hasOutput = queue.value?.items.some((item) => item.direction === "out") ?? false;

  const read = async () => {
    const found = await post<{ output: string | null; seq?: number }>("/api/io/output", { session });
    if (found.output === null) toast(t("noOutput"));
    else setTaken((before) => [...before, { seq: found.seq ?? 0, text: found.output ?? "" }]);
    queue.reload();
  };
  return (
    <>
      <Bar>
        <Back to={href("io")} />
        <h2 className="min-w-0 flex-1 truncate font-mono text-sm font-semibold">{session}</h2>
        <Button size="sm" variant="outline" title={t("takeHint")} aria-describedby="take" disabled={busy || !hasOutput} onClick={() => void doing(read)}>
          <ArrowDownToLine />
          {t("takeOutput")}
        </Button>
      </Bar>
      {hasOutput && (
        <p id="take" className="border-b px-4 py-1.5 text-xs text-muted-foreground">
          {t("takeHint")}
        </p>
      )}
      {queue.value?.agents.map((each) => <ToAgent key={talkKey(each)} agent={each} />)}
      <Log label={t("io")}>
        <Loaded data={queue}>
          {({ items }) => (
            <>
              {!items.length && !taken.length && (
                <Empty icon={<Cable />} title={t("emptyQueue")} text={t("emptyQueueHint")} />
              )}
              {taken.map((item) => (
                <Bubble key={`t${item.seq}`} text={item.text} mine={false}>
                  <Badge variant="positive">{t("takenHere")}</Badge>
                </Bubble>
              ))}
              {items.map((item) => (
                <Bubble key={item.seq} text={item.text} mine={item.direction === "in"}>
                  <Time ms={item.created_ts * 1000} />
                  <Badge variant={item.state === "queued" ? "default" : "accent"}>
                    {t(item.direction === "in" ? `in_${item.state}` : "out_queued")}
                  </Badge>
                </Bubble>
              ))}
            </>
          )}
        </Loaded>
      </Log>
      <SendBar
        place={`io ${session}`}
        label={t("sendInput")}
        action={t("send")}
        icon={<SendHorizontal />}
        send={async (text, key) => {
          await post("/api/io/input", { session, text, key });
          queue.reload();
        }}
      />
    </>
  );
}

/** The way to where one writes to an agent unasked. */
function ToAgent({ agent }: { agent: Agent }) {
  const t = useT();
  return (
    <p className="border-b px-4 py-1.5 text-sm [overflow-wrap:anywhere]">
      <a href={href("questions", talkKey(agent))} title={t("writeToHere")} className="text-primary underline underline-offset-2">
        {t("writeTo", { name: agent.agent || t("agent"), project: agent.project })}
      </a>
    </p>
  );
}

function Bubble({ text, mine, children }: { text: string; mine: boolean; children: ReactNode }) {
  return (
    <article className={cn("flex max-w-[min(40rem,92%)] flex-col gap-1", mine ? "items-end self-end" : "items-start self-start")}>
      <pre
        className={cn(
          "max-w-full overflow-x-auto rounded-2xl border px-3.5 py-2 font-sans text-sm whitespace-pre-wrap [overflow-wrap:anywhere]",
          mine ? "rounded-tr-md bg-accent text-accent-foreground" : "rounded-tl-md bg-bubble",
        )}
      >
        {text}
      </pre>
      <p className="flex items-center gap-1.5 text-xs text-muted-foreground">{children}</p>
    </article>
  );
}
