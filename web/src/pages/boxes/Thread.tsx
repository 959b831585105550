import { Ban, Check, Reply } from "lucide-react";
import { useState } from "react";
import { LetterCard } from "@/components/LetterCard";
import { Loaded } from "@/components/Loaded";
import { SendBar } from "@/components/SendBar";
import { Back, Bar } from "@/components/Split";
import { Sure } from "@/components/Sure";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Select } from "@/components/ui/input";
import { toast } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { useData } from "@/lib/data";
import { useDoing } from "@/lib/doing";
import { useDraft } from "@/lib/drafts";
import { useT } from "@/lib/i18n";
import { goLater, href } from "@/lib/router";
import { Kind } from "@/pages/boxes/Kind";
import { type BoxName, type ThreadValue, concerns, utc } from "@/pages/boxes/types";

export function Thread({ agent, id, box, types }: { agent: string; id: string; box: BoxName; types: string[] }) {
  const t = useT();
  const thread = useData<ThreadValue>("/api/boxes/thread", { agent, id }, concerns(agent));
  const [busy, doing] = useDoing();
  const place = `boxes ${agent} reply ${id}`;
  const { draft, change } = useDraft(`${place} type`, { type: "ACK" }); // stays when something was sent
  const { type } = draft;
  const [asking, setAsking] = useState<"resolve" | "reject">();
  const value = thread.value;
  const move = async (what: "resolve" | "reject") => {
    setAsking(undefined);
    if (!value) return;
    const then = goLater();
    await post(`/api/boxes/${what}`, { agent, file: value.file });
    toast(t(what === "resolve" ? "resolved" : "rejected"));
    then("boxes", agent, box);
  };
  const inInbox = value?.box === "inbox";
  const other = value ? (value.from === agent ? value.to : value.from) : undefined;
  return (
    <>
      <Bar>
        <Back to={href("boxes", agent, box)} />
        <div className="min-w-0 flex-1">
          <h2 className="line-clamp-2 text-sm font-semibold [overflow-wrap:anywhere]">{value?.title ?? id}</h2>
          <p className="flex gap-1.5 pt-0.5">
            <Kind type={value?.type} />
            {value && <Badge variant="outline">{t(`box_${value.box}`)}</Badge>}
          </p>
        </div>
        {inInbox && (
          <>
            {(["resolve", "reject"] as const).map((what) => (
              <Button
                key={what}
                size="sm"
                variant={what === "reject" ? "destructive" : "outline"}
                disabled={busy}
                aria-label={t(what)}
                title={t(what)}
                onClick={() => setAsking(what)}
              >
                {what === "reject" ? <Ban /> : <Check />}
                <span className="max-sm:hidden">{t(what)}</span>
              </Button>
            ))}
          </>
        )}
      </Bar>
      <Dialog open={asking !== undefined} title={t(asking ?? "resolve")} onClose={() => setAsking(undefined)}>
        {asking && (
          <Sure question={t(`${asking}Sure`, { title: value?.title ?? id })} no={() => setAsking(undefined)}>
            <Button variant={asking === "reject" ? "destructive" : "default"} onClick={() => void doing(() => move(asking))}>
              {t(asking)}
            </Button>
          </Sure>
        )}
      </Dialog>
      <div className="min-h-0 flex-1 overflow-y-auto focus-visible:-outline-offset-2" tabIndex={0} role="region" aria-label={t("thread")}>
        <Loaded data={thread}>
          {({ entries, older_entries_left_out: leftOut }) => (
            <div className="mx-auto flex max-w-4xl flex-col gap-3 p-4">
              {entries.map((entry, index) => (
                <LetterCard
                  key={entries.length - index} // the newest stands first
                  from={entry.from}
                  bot
                  to={entry.to}
                  marks={<Kind type={entry.type} />}
                  ms={Date.parse(utc(entry.time))}
                  text={entry.text}
                >
                  {entry.more && <p className="mt-1 text-xs text-muted-foreground">{entry.more}</p>}
                </LetterCard>
              ))}
              {leftOut && <p className="text-center text-xs text-muted-foreground">{t("olderLeftOut", { n: leftOut })}</p>}
            </div>
          )}
        </Loaded>
      </div>
      {inInbox && value.id && other && (
        <SendBar
          place={place}
          label={t("replyAs", { name: agent, to: other })}
          action={t("reply")}
          icon={<Reply />}
          send={async (content) => {
            const reply = { agent, to: other, type, content, original: value.id };
            const made = await post<{ note: string }>("/api/boxes/send", reply);
            toast(t("sent"), { hint: made.note });
          }}
        >
          <Select aria-label={t("type")} value={type} className="h-10" onChange={(event) => change({ type: event.target.value })}>
            {types.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </Select>
        </SendBar>
      )}
    </>
  );
}
