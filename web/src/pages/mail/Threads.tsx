import { Mail } from "lucide-react";
import { Avatar, Empty, Loading, Problem } from "@/components/common";
import { ListRow } from "@/components/ListRow";
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
          <ListRow
            to={href("mail", project, "threads", each.id)}
            current={each.id === current}
            face={<Avatar name={each.last_from} small />}
            title={each.subject}
            ms={each.last_ts * 1000}
            text={listed(each.senders, language)}
            marks={
              <>
                <Importance level={each.importance} />
                <Badge>{each.messages}</Badge>
              </>
            }
          />
        </li>
      ))}
    </ul>
  );
}
