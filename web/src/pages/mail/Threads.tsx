import { Mail } from "lucide-react";
import { Avatar, Empty } from "@/components/common";
import { ListRow } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { Badge } from "@/components/ui/badge";
import { useData } from "@/lib/data";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { Importance } from "@/pages/mail/Importance";
import { type Conversation, PERSON, ofMail } from "@/pages/mail/types";

export function Threads({ project, current }: { project: string; current: string | undefined }) {
  const t = useT();
  const language = useLanguage();
  const data = useData<{ threads: Conversation[] }>("/api/mail/threads", { project }, ofMail);
  return (
    <Loaded data={data}>
      {({ threads }) =>
        threads.length ? (
          <ul>
            {threads.map((each) => (
              <li key={each.id}>
                <ListRow
                  to={href("mail", project, "threads", each.id)}
                  current={each.id === current}
                  face={<Avatar name={each.last_from} bot={each.last_from !== PERSON} small />}
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
        ) : (
          <Empty icon={<Mail />} title={t("noThreads")} />
        )
      }
    </Loaded>
  );
}
