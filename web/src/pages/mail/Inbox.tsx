import { Mail, MailPlus } from "lucide-react";
import { useState } from "react";
import { Avatar, Empty } from "@/components/common";
import { Listed } from "@/components/Listed";
import { ListRow } from "@/components/ListRow";
import { Back, Bar } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { usePages } from "@/lib/data";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { Importance } from "@/pages/mail/Importance";
import { type Letter, type LetterPage, PERSON, ofMail } from "@/pages/mail/types";

/** What came to an agent, or what it sent. */
export function Inbox({ project, agent, write }: { project: string; agent: string; write: () => void }) {
  const t = useT();
  const [box, setBox] = useState<"inbox" | "outbox">("inbox");
  const data = usePages<LetterPage>(`/api/mail/${box}`, { project, agent }, ofMail);
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
        {agent !== PERSON && (
          <Button size="sm" variant="outline" aria-label={t("write")} onClick={write}>
            <MailPlus />
            <span className="max-sm:hidden">{t("write")}</span>
          </Button>
        )}
      </Bar>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <Listed data={data} items={(page) => page.messages} empty={<Empty icon={<Mail />} title={t("emptyBox")} />}>
          {(letter) => (
            <li key={letter.id}>
              <LetterRow
                project={project}
                letter={letter}
                people={box === "inbox" ? [letter.from] : letter.to}
              />
            </li>
          )}
        </Listed>
      </div>
    </>
  );
}

/** A letter in a list; `people` are those at its other end. */
function LetterRow({ project, letter, people }: { project: string; letter: Letter; people: string[] }) {
  const language = useLanguage();
  const first = people[0] ?? "";
  return (
    <ListRow
      to={href("mail", project, "threads", letter.thread_id ?? letter.id)}
      walked={false}
      face={<Avatar name={first} bot={first !== PERSON} small />}
      title={letter.subject}
      titleStyle={letter.read === null ? "font-bold" : "font-normal"}
      ms={letter.created_ts * 1000}
      text={listed(people, language)}
      marks={<Marks letter={letter} />}
    />
  );
}

function Marks({ letter }: { letter: Letter }) {
  const t = useT();
  return (
    <>
      <Importance level={letter.importance} />
      {letter.read === null && <Badge variant="solid">{t("unread")}</Badge>}
      {letter.acknowledged ? (
        <Badge variant="positive">{t("acknowledged")}</Badge>
      ) : letter.ack_required ? (
        <Badge variant="warning">{t("toAcknowledge")}</Badge>
      ) : null}
    </>
  );
}
