import { Mail } from "lucide-react";
import { Avatar, Empty, Loading, Problem, Time } from "@/components/common";
import { rowStyle } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { useData } from "@/lib/data";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { Importance } from "@/pages/mail/Importance";
import { type Conversation, ofMail } from "@/pages/mail/types";

export function Threads({ project, current }: { project: string; current: string | undefined }) {
  const t = useT();
  const language = useLanguage();
  const threads = useData<{ threads: Conversation[] }>("/api/mail/threads", { project }, ofMail);
  if (threads.error) return <Problem error={threads.error} retry={threads.reload} />;
  if (!threads.value) return <Loading />;
  if (!threads.value.threads.length) return <Empty icon={<Mail />} title={t("noThreads")} />;
  return (
    <ul>
      {threads.value.threads.map((each) => (
        <li key={each.id}>
          <a
            data-row
            href={href("mail", project, "threads", each.id)}
            aria-current={each.id === current}
            className={rowStyle}
          >
            <Avatar name={each.last_from} small />
            <span className="min-w-0 flex-1">
              <span className="flex items-baseline gap-2">
                <span className="min-w-0 flex-1 truncate text-sm font-semibold">{each.subject}</span>
                <Time ms={each.last_ts * 1000} className="shrink-0 text-xs text-muted-foreground" />
              </span>
              <span className="mt-1 flex items-center gap-1.5 text-[13px] text-muted-foreground">
                <span className="min-w-0 flex-1 truncate">{listed(each.senders, language)}</span>
                <Importance level={each.importance} />
                <Badge>{each.messages}</Badge>
              </span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}
