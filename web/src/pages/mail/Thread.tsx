import { Paperclip, Reply } from "lucide-react";
import { useRef, useState } from "react";
import { Avatar, Loading, Problem, Time } from "@/components/common";
import { Markdown } from "@/components/Markdown";
import { Back, Bar } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Textarea } from "@/components/ui/input";
import { toast, toastError } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { useData } from "@/lib/data";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { isSend } from "@/lib/keys";
import { href } from "@/lib/router";
import { onceKey } from "@/lib/utils";
import { Importance } from "@/pages/mail/Importance";
import { InShort } from "@/pages/mail/InShort";
import { type Letter, type ThreadValue, ofMail } from "@/pages/mail/types";

export function Thread({ project, id, view }: { project: string; id: string; view: string }) {
  const t = useT();
  const thread = useData<ThreadValue>("/api/mail/thread", { project, id }, ofMail);
  const last = thread.value?.messages.at(-1);
  return (
    <>
      <Bar>
        <Back to={href("mail", project, view)} />
        <div className="min-w-0 flex-1">
          <h2 className="truncate text-sm font-semibold">{thread.value?.messages[0]?.subject ?? id}</h2>
          <p className="truncate text-xs text-muted-foreground">{id}</p>
        </div>
      </Bar>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label={t("thread")}>
        {thread.error ? (
          <Problem error={thread.error} retry={thread.reload} />
        ) : !thread.value ? (
          <Loading />
        ) : (
          <div className="mx-auto flex max-w-4xl flex-col gap-3 p-4">
            {thread.value.messages.length > 1 && <InShort summary={thread.value.summary} />}
            {thread.value.messages.map((letter) => (
              <LetterCard key={letter.id} letter={letter} />
            ))}
          </div>
        )}
      </div>
      {last && <Answer id={last.id} to={last.from} />}
    </>
  );
}

function LetterCard({ letter }: { letter: Letter }) {
  const t = useT();
  const language = useLanguage();
  return (
    <Card>
      <header className="flex items-start gap-2.5 px-4 pt-3">
        <Avatar name={letter.from} bot={letter.from !== "human"} small />
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-[13px]">
            <span className="font-semibold">{letter.from}</span>
            <span className="text-muted-foreground">
              → {listed(letter.to, language)}
              {letter.cc && ` · ${t("cc")} ${listed(letter.cc, language)}`}
            </span>
            <Importance level={letter.importance} />
            {letter.ack_required && <Badge variant="warning">{t("ackWanted")}</Badge>}
            <Time ms={letter.created_ts * 1000} className="ml-auto text-xs text-muted-foreground" />
          </p>
        </div>
      </header>
      <div className="px-4 pt-2 pb-3.5 pl-12.5">
        <Markdown text={letter.body_md ?? ""} />
        {letter.attachments?.map(
          (each) =>
            each.path && (
              <p key={each.path} className="mt-2 flex items-center gap-1.5 text-xs text-muted-foreground">
                <Paperclip className="size-3.5" aria-hidden />
                {each.path}
              </p>
            ),
        )}
      </div>
    </Card>
  );
}

function Answer({ id, to }: { id: string; to: string }) {
  const t = useT();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(onceKey());
  const send = async () => {
    if (!text.trim() || busy) return;
    setBusy(true);
    try {
      await post("/api/mail/reply", { id, body: text, key: key.current });
      key.current = onceKey();
      setText("");
      toast(t("sent"));
    } catch (error) {
      toastError(error, t("unreachable"));
    } finally {
      setBusy(false);
    }
  };
  const label = t("replyAsPerson", { name: to });
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
