import { Mail } from "lucide-react";
import { Avatar, Empty } from "@/components/common";
import { ListRow } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { More } from "@/components/More";
import { Badge } from "@/components/ui/badge";
import { usePages } from "@/lib/data";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { Importance } from "@/pages/mail/Importance";
import { PERSON, type ThreadPage, ofMail } from "@/pages/mail/types";

export function Threads({ project, current }: { project: string; current: string | undefined }) {
  const t = useT();
  const language = useLanguage();
  const data = usePages<ThreadPage>("/api/mail/threads", { project }, ofMail);
  return (
    <Loaded data={data}>
      {(pages) => {
        const threads = pages.flatMap((page) => page.threads);
        if (!threads.length) return <Empty icon={<Mail />} title={t("noThreads")} />;
        return (
          <>
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
            <More of={data} />
          </>
        );
      }}
    </Loaded>
  );
}
