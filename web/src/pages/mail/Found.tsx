import { Search } from "lucide-react";
import { Avatar, Empty, Marked } from "@/components/common";
import { HitList } from "@/components/HitList";
import { Excerpt, ListRow } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { More } from "@/components/More";
import { usePages } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { type HitPage, PERSON, ofMail } from "@/pages/mail/types";

/** What was found; `current` is the thread that is open. */
export function Found({ project, query, current }: { project: string; query: string; current: string | undefined }) {
  const t = useT();
  const found = usePages<HitPage>("/api/mail/search", { project, q: query }, ofMail);
  return (
    <Loaded data={found}>
      {(pages) => {
        const hits = pages.flatMap((page) => page.hits);
        return (
          <>
            {pages[0]?.notes.map((note) => (
              <p key={note} className="border-b px-4 py-2 text-xs text-muted-foreground">
                {note}
              </p>
            ))}
            {!hits.length && <Empty icon={<Search />} title={t("nothingFound")} />}
            <HitList query={query}>
              {hits.map((hit) => (
                <li key={hit.id}>
                  <ListRow
                    to={href("mail", project, "threads", hit.thread_id ?? hit.id)}
                    current={(hit.thread_id ?? hit.id) === current}
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
            </HitList>
            <More of={found} />
          </>
        );
      }}
    </Loaded>
  );
}
