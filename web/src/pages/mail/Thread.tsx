import { Paperclip, Reply } from "lucide-react";
import { LetterCard } from "@/components/LetterCard";
import { Loaded } from "@/components/Loaded";
import { More } from "@/components/More";
import { SendBar } from "@/components/SendBar";
import { Back, Bar } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { toast } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { usePages } from "@/lib/data";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { Importance } from "@/pages/mail/Importance";
import { InShort } from "@/pages/mail/InShort";
import { type Letter, type LettersOfThread, PERSON, ofMail } from "@/pages/mail/types";

/** A thread with its summary, and a field to answer its last letter as a person. */
export function Thread({ project, id, view }: { project: string; id: string; view: string }) {
  const t = useT();
  const language = useLanguage();
  const thread = usePages<LettersOfThread>("/api/mail/thread", { project, id }, ofMail);
  const letters = thread.value?.toReversed().flatMap((page) => page.messages) ?? [];
  const last = letters.at(-1);
  return (
    <>
      <Bar>
        <Back to={href("mail", project, view)} />
        <div className="min-w-0 flex-1">
          <h2 className="line-clamp-2 text-sm font-semibold [overflow-wrap:anywhere]">{thread.value?.[0]?.subject ?? id}</h2>
          <p className="truncate text-xs text-muted-foreground">{id}</p>
        </div>
      </Bar>
      <div className="min-h-0 flex-1 overflow-y-auto focus-visible:-outline-offset-2" tabIndex={0} role="region" aria-label={t("thread")}>
        <Loaded data={thread}>
          {([newest]) => (
            <div className="mx-auto flex max-w-4xl flex-col gap-3 p-4">
              {letters.length > 1 && newest && <InShort summary={newest.summary} />}
              <More of={thread} />
              {letters.map((letter) => (
                <Message key={letter.id} project={project} letter={letter} />
              ))}
            </div>
          )}
        </Loaded>
      </div>
      {last && (
        <SendBar
          place={`mail ${project} reply ${id}`}
          label={t("replyAsPerson", { name: last.from === PERSON ? listed(last.to, language) : last.from })}
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

function Message({ project, letter }: { project: string; letter: Letter }) {
  const t = useT();
  const language = useLanguage();
  return (
    <LetterCard
      from={letter.from}
      bot={letter.from !== PERSON}
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
      {letter.body_left_out && <p className="mb-1 text-sm text-muted-foreground italic">{letter.body_left_out}</p>}
      {letter.body_md === undefined && (
        <a href={href("mail", project, "threads", letter.id)} className="text-sm text-primary underline">
          {t("showAlone")}
        </a>
      )}
      {letter.attachments?.map(
        (each, index) =>
          each.path && (
            <p key={`${index} ${each.path}`} className="mt-2 flex items-center gap-1.5 text-xs text-muted-foreground">
              <Paperclip className="size-3.5" aria-hidden />
              {each.path}
            </p>
          ),
      )}
    </LetterCard>
  );
}
