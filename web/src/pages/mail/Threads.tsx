import { Mail } from "lucide-react";
import { Avatar, Empty } from "@/components/common";
import { Listed } from "@/components/Listed";
import { ListRow } from "@/components/ListRow";
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
    <Listed data={data} items={(page) => page.threads} empty={<Empty icon={<Mail />} title={t("noThreads")} />}>
      {(each) => (
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
      )}
    </Listed>
  );
}
