import { Ban, Check, Reply } from "lucide-react";
import { useState } from "react";
import { Avatar, Loading, Problem, Time } from "@/components/common";
import { Markdown } from "@/components/Markdown";
import { Back, Bar } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Select, Textarea } from "@/components/ui/input";
import { toast, toastError } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { useData } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { isSend } from "@/lib/keys";
import { go, href } from "@/lib/router";
import { Kind } from "@/pages/boxes/Kind";
import { type BoxName, type ThreadValue, concerns, utc } from "@/pages/boxes/types";

export function Thread({ agent, id, box, types }: { agent: string; id: string; box: BoxName; types: string[] }) {
  const t = useT();
  const thread = useData<ThreadValue>("/api/boxes/thread", { agent, id }, concerns(agent));
  const [busy, setBusy] = useState(false);
  const value = thread.value;
  const move = async (what: "resolve" | "reject") => {
    if (!value || busy) return;
    setBusy(true);
    try {
      await post(`/api/boxes/${what}`, { agent, file: value.file });
      toast(t(what === "resolve" ? "resolved" : "rejected"));
      go("boxes", agent, box);
    } catch (error) {
      toastError(error, t("unreachable"));
      setBusy(false);
    }
  };
  const inInbox = value?.box === "inbox";
  const other = value ? (value.from === agent ? value.to : value.from) : undefined;
  return (
    <>
      <Bar>
        <Back to={href("boxes", agent, box)} />
        <div className="min-w-0 flex-1">
          <h2 className="truncate text-sm font-semibold">{value?.title ?? id}</h2>
          <p className="flex gap-1.5 pt-0.5">
            <Kind type={value?.type} />
            {value && <Badge variant="outline">{t(`box_${value.box}`)}</Badge>}
          </p>
        </div>
        {inInbox && (
          <>
            <Button size="sm" variant="outline" disabled={busy} aria-label={t("resolve")} onClick={() => void move("resolve")}>
              <Check />
              <span className="max-sm:hidden">{t("resolve")}</span>
            </Button>
            <Button size="sm" variant="destructive" disabled={busy} aria-label={t("reject")} onClick={() => void move("reject")}>
              <Ban />
              <span className="max-sm:hidden">{t("reject")}</span>
            </Button>
          </>
        )}
      </Bar>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label={t("thread")}>
        {thread.error ? (
          <Problem error={thread.error} retry={thread.reload} />
        ) : !value ? (
          <Loading />
        ) : (
          <div className="mx-auto flex max-w-4xl flex-col gap-3 p-4">
            {value.entries.map((entry, index) => (
              <Card key={`${entry.time} ${index}`}>
                <header className="flex items-center gap-2.5 px-4 pt-3 text-[13px]">
                  <Avatar name={entry.from} bot small />
                  <span className="font-semibold">{entry.from}</span>
                  <span className="text-muted-foreground">→ {entry.to}</span>
                  <Kind type={entry.type} />
                  <Time ms={Date.parse(utc(entry.time))} className="ml-auto text-xs text-muted-foreground" />
                </header>
                <div className="px-4 pt-2 pb-3.5 pl-12.5">
                  <Markdown text={entry.text} />
                  {entry.more && <p className="mt-1 text-xs text-muted-foreground">{entry.more}</p>}
                </div>
              </Card>
            ))}
          </div>
        )}
      </div>
      {inInbox && value.id && other && <Answer agent={agent} to={other} id={value.id} types={types} />}
    </>
  );
}

function Answer({ agent, to, id, types }: { agent: string; to: string; id: string; types: string[] }) {
  const t = useT();
  const [text, setText] = useState("");
  const [type, setType] = useState("ACK");
  const [busy, setBusy] = useState(false);
  const send = async () => {
    if (!text.trim() || busy) return;
    setBusy(true);
    try {
      const made = await post<{ note: string }>("/api/boxes/send", { agent, to, type, content: text, original: id });
      setText("");
      toast(t("sent"), { hint: made.note });
    } catch (error) {
      toastError(error, t("unreachable"));
    } finally {
      setBusy(false);
    }
  };
  const label = t("replyAs", { name: agent, to });
  return (
    <footer className="flex shrink-0 items-end gap-2 border-t bg-surface px-4 py-2.5">
      <Textarea
        rows={1}
        value={text}
        aria-label={label}
        placeholder={label}
        className="max-h-48 min-h-10 flex-1 field-sizing-content"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => isSend(event) && void send()}
      />
      <Select aria-label={t("type")} value={type} className="h-10" onChange={(event) => setType(event.target.value)}>
        {types.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </Select>
      <Button
        className="h-10"
        title="Ctrl+Enter"
        aria-label={t("reply")}
        disabled={!text.trim() || busy}
        onClick={() => void send()}
      >
        <Reply />
        <span className="max-sm:hidden">{t("reply")}</span>
      </Button>
    </footer>
  );
}
