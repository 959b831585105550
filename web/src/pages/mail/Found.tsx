import { Search } from "lucide-react";
import { Avatar, Empty, Loading, Marked, Problem, Time } from "@/components/common";
import { rowStyle } from "@/components/Split";
import { useData } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { type Hit, ofMail } from "@/pages/mail/types";

export function Found({ project, query }: { project: string; query: string }) {
  const t = useT();
  const found = useData<{ hits: Hit[]; notes: string[] }>("/api/mail/search", { project, q: query }, ofMail);
  if (found.error) return <Problem error={found.error} retry={found.reload} />;
  if (!found.value) return <Loading />;
  return (
    <>
      {found.value.notes.map((note) => (
        <p key={note} className="border-b px-4 py-2 text-xs text-muted-foreground">
          {note}
        </p>
      ))}
      {!found.value.hits.length && <Empty icon={<Search />} title={t("nothingFound")} />}
      <ul>
        {found.value.hits.map((hit) => (
          <li key={hit.id}>
            <a data-row href={href("mail", project, "threads", hit.thread_id ?? hit.id)} className={rowStyle}>
              <Avatar name={hit.from} small />
              <span className="min-w-0 flex-1">
                <span className="flex items-baseline gap-2">
                  <span className="min-w-0 flex-1 truncate text-sm font-semibold">{hit.subject}</span>
                  <Time ms={hit.created_ts * 1000} className="shrink-0 text-xs text-muted-foreground" />
                </span>
                <span className="mt-0.5 line-clamp-3 text-[13px] [overflow-wrap:anywhere]">
                  {hit.from}: <Marked text={hit.snippet} />
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}
