import { Mail, MailPlus } from "lucide-react";
import { useState } from "react";
import { Avatar, Empty, Loading, Problem, Time } from "@/components/common";
import { Back, Bar, rowStyle } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { useData } from "@/lib/data";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { cn } from "@/lib/utils";
import { Importance } from "@/pages/mail/Importance";
import { type Letter, ofMail } from "@/pages/mail/types";

export function Inbox({ project, agent, write }: { project: string; agent: string; write: () => void }) {
  const t = useT();
  const language = useLanguage();
  const [box, setBox] = useState<"inbox" | "outbox">("inbox");
  const letters = useData<{ messages: Letter[] }>(`/api/mail/${box}`, { project, agent }, ofMail);
  return (
    <>
      <Bar>
        <Back to={href("mail", project, "agents")} />
        <h2 className="min-w-0 flex-1 truncate text-sm font-semibold">{agent}</h2>
        {(["inbox", "outbox"] as const).map((each) => (
          <Button
            key={each}
            size="sm"
            variant={box === each ? "outline" : "ghost"}
            aria-pressed={box === each}
            onClick={() => setBox(each)}
          >
            {t(`box_${each}`)}
          </Button>
        ))}
        <Button size="sm" variant="outline" aria-label={t("write")} onClick={write}>
          <MailPlus />
          <span className="max-sm:hidden">{t("write")}</span>
        </Button>
      </Bar>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {letters.error ? (
          <Problem error={letters.error} retry={letters.reload} />
        ) : !letters.value ? (
          <Loading />
        ) : !letters.value.messages.length ? (
          <Empty icon={<Mail />} title={t("emptyBox")} />
        ) : (
          <ul>
            {letters.value.messages.map((letter) => (
              <li key={letter.id}>
                <a href={href("mail", project, "threads", letter.thread_id ?? letter.id)} className={rowStyle}>
                  <Avatar name={box === "inbox" ? letter.from : (letter.to[0] ?? "")} small />
                  <span className="min-w-0 flex-1">
                    <span className="flex items-baseline gap-2">
                      <span className={cn("min-w-0 flex-1 truncate text-sm", letter.read === null && "font-bold")}>
                        {letter.subject}
                      </span>
                      <Time ms={letter.created_ts * 1000} className="shrink-0 text-xs text-muted-foreground" />
                    </span>
                    <span className="mt-0.5 flex items-center gap-1.5 text-[13px] text-muted-foreground">
                      <span className="min-w-0 flex-1 truncate">
                        {box === "inbox" ? letter.from : listed(letter.to, language)}
                      </span>
                      <Importance level={letter.importance} />
                      {letter.read === null && <Badge variant="solid">{t("unread")}</Badge>}
                      {letter.acknowledged ? (
                        <Badge variant="positive">{t("acknowledged")}</Badge>
                      ) : letter.ack_required ? (
                        <Badge variant="warning">{t("toAcknowledge")}</Badge>
                      ) : null}
                    </span>
                  </span>
                </a>
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}
