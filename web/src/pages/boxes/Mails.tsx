import { Archive, Search, ShieldAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Avatar, Empty, Highlit } from "@/components/common";
import { HitList } from "@/components/HitList";
import { Listed } from "@/components/Listed";
import { ListRow, rowStyle } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { Badge } from "@/components/ui/badge";
import { type Page, useData, usePages } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { cn } from "@/lib/utils";
import { Kind } from "@/pages/boxes/Kind";
import { type BoxName, type MailRow, concerns, utc } from "@/pages/boxes/types";

export function Mails({ agent, box, current }: { agent: string; box: BoxName; current: string | undefined }) {
  const t = useT();
  const data = usePages<Page & { messages: MailRow[] }>("/api/boxes/page", { agent, box }, concerns(agent));
  return (
    <Listed data={data} items={(page) => page.messages} empty={<Empty icon={<Archive />} title={t("emptyBox")} />}>
      {(mail) => (
        <li key={mail.file}>
          <MailLink agent={agent} box={box} mail={mail} current={mail.id === current}>
            {box === "outbox" ? `→ ${mail.to}` : mail.from}
          </MailLink>
        </li>
      )}
    </Listed>
  );
}

/** What was found; `current` is the mail that is open. */
export function Found({ agent, query, current }: { agent: string; query: string; current: string | undefined }) {
  const t = useT();
  const found = useData<{ hits: MailRow[]; more: boolean }>("/api/boxes/search", { agent, q: query }, concerns(agent));
  return (
    <Loaded data={found}>
      {({ hits, more }) =>
        hits.length ? (
          <>
            <HitList query={query}>
              {hits.map((hit) => (
                <li key={`${hit.box} ${hit.file}`}>
                  <MailLink agent={agent} box={hit.box ?? "inbox"} mail={hit} current={hit.id === current}>
                    <Highlit text={hit.text ?? ""} word={query.split(/\s+/)[0] ?? ""} />
                  </MailLink>
                </li>
              ))}
            </HitList>
            {more && <p className="px-4 py-3 text-center text-xs text-muted-foreground">{t("moreFound")}</p>}
          </>
        ) : (
          <Empty icon={<Search />} title={t("nothingFound")} />
        )
      }
    </Loaded>
  );
}

function MailLink(props: { agent: string; box: string; mail: MailRow; current: boolean; children: ReactNode }) {
  const t = useT();
  const { mail } = props;
  if (!mail.id) {
    return (
      <p className={cn(rowStyle, "text-[13px]")}>
        <ShieldAlert className="size-4 shrink-0 text-warning" aria-hidden />
        <span>
          {mail.file}: {mail.problem}
        </span>
      </p>
    );
  }
  return (
    <ListRow
      to={href("boxes", props.agent, props.box, mail.id)}
      current={props.current}
      face={<Avatar name={(props.box === "outbox" ? mail.to : mail.from) ?? "?"} bot small />}
      title={mail.title}
      titleStyle={mail.unread ? "font-bold" : "font-normal"}
      ms={mail.time ? Date.parse(utc(mail.time)) : undefined}
      text={props.children}
      marks={
        <>
          <Kind type={mail.type} />
          {mail.unread && <Badge variant="solid">{t("unread")}</Badge>}
        </>
      }
    />
  );
}
