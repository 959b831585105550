import { Search } from "lucide-react";
import { Avatar, Empty, Marked } from "@/components/common";
import { Excerpt, ListRow } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { useData } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { type Hit, PERSON, ofMail } from "@/pages/mail/types";

export function Found({ project, query }: { project: string; query: string }) {
  const t = useT();
  const found = useData<{ hits: Hit[]; notes: string[] }>("/api/mail/search", { project, q: query }, ofMail);
  return (
    <Loaded data={found}>
      {({ hits, notes }) => (
        <>
          {notes.map((note) => (
            <p key={note} className="border-b px-4 py-2 text-xs text-muted-foreground">
              {note}
            </p>
          ))}
          {!hits.length && <Empty icon={<Search />} title={t("nothingFound")} />}
          <ul>
            {hits.map((hit) => (
              <li key={hit.id}>
                <ListRow
                  to={href("mail", project, "threads", hit.thread_id ?? hit.id)}
                  face={<Avatar name={hit.from} bot={hit.from !== PERSON} small />}
                  title={hit.subject}
                  ms={hit.created_ts * 1000}
                >
                  <Excerpt>
                    {hit.from}: <Marked text={hit.snippet} />
                  </Excerpt>
                </ListRow>
              </li>
            ))}
          </ul>
        </>
      )}
    </Loaded>
  );
}
