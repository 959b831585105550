import { Paperclip, Reply } from "lucide-react";
import { Loading, Problem } from "@/components/common";
import { LetterCard } from "@/components/LetterCard";
import { SendBar } from "@/components/SendBar";
import { Back, Bar } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { toast } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { useData } from "@/lib/data";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { Importance } from "@/pages/mail/Importance";
import { InShort } from "@/pages/mail/InShort";
import { type Letter, type ThreadValue, ofMail } from "@/pages/mail/types";

/** A thread with its summary, and a field to answer its last letter as a person. */
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
              <Message key={letter.id} letter={letter} />
            ))}
          </div>
        )}
      </div>
      {last && (
        <SendBar
          label={t("replyAsPerson", { name: last.from })}
          action={t("reply")}
          icon={<Reply />}
          send={async (body, key) => {
            await post("/api/mail/reply", { id: last.id, body, key });
            toast(t("sent"));
          }}
        />
      )}
    </>
  );
}

function Message({ letter }: { letter: Letter }) {
  const t = useT();
  const language = useLanguage();
  return (
    <LetterCard
      from={letter.from}
      bot={letter.from !== "human"}
      to={listed(letter.to, language) + (letter.cc ? ` · ${t("cc")} ${listed(letter.cc, language)}` : "")}
      marks={
        <>
          <Importance level={letter.importance} />
          {letter.ack_required && <Badge variant="warning">{t("ackWanted")}</Badge>}
        </>
      }
      ms={letter.created_ts * 1000}
      text={letter.body_md ?? ""}
    >
      {letter.attachments?.map(
        (each) =>
          each.path && (
            <p key={each.path} className="mt-2 flex items-center gap-1.5 text-xs text-muted-foreground">
              <Paperclip className="size-3.5" aria-hidden />
              {each.path}
            </p>
          ),
      )}
    </LetterCard>
  );
}
