import { Archive, Ban, Check, Inbox, MailPlus, Reply, Search, Send, ShieldAlert } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { Avatar, Empty, Highlit, Loading, Problem, Time } from "@/components/common";
import { Markdown } from "@/components/Markdown";
import { Back, Bar, Split, rowStyle } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Dialog } from "@/components/ui/dialog";
import { Input, Label, Select, Textarea } from "@/components/ui/input";
import { toast, toastError } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { useData } from "@/lib/data";
import type { News } from "@/lib/events";
import { useT } from "@/lib/i18n";
import { isSend, useKeys } from "@/lib/keys";
import { go, href } from "@/lib/router";
import { cn } from "@/lib/utils";
import { Find } from "@/pages/groups";

interface Owner {
  name: string;
  permitted: boolean;
  problem?: string;
  inbox?: number;
  unread?: number;
}
interface MailRow {
  file: string;
  id?: string;
  type?: string;
  title?: string;
  from?: string;
  to?: string;
  time?: string;
  unread?: boolean;
  problem?: string;
  box?: string;
  text?: string;
}
interface ThreadValue extends MailRow {
  box: BoxName;
  entries: { time: string; from: string; to: string; type: string; text: string; more?: string }[];
  older_entries_left_out?: number;
}
type BoxName = "inbox" | "outbox" | "done" | "cancel";

const BOXES: { name: BoxName; icon: ReactNode }[] = [
  { name: "inbox", icon: <Inbox /> },
  { name: "outbox", icon: <Send /> },
  { name: "done", icon: <Check /> },
  { name: "cancel", icon: <Ban /> },
];

/** #/boxes/AGENT/BOX/ID */
export function BoxesPage({ place }: { place: string[] }) {
  const t = useT();
  const owners = useData<{ agents: Owner[]; types: string[] }>("/api/boxes", {}, (news) => news.room === "boxes");
  const [query, setQuery] = useState("");
  const [writing, setWriting] = useState(false);
  const agents = owners.value?.agents ?? [];
  const agent = place[0] ?? agents.find((each) => each.permitted)?.name;
  const box = BOXES.find((each) => each.name === place[1])?.name ?? "inbox";
  const open = place[2];
  const owner = agents.find((each) => each.name === agent);
  useKeys({ Escape: () => agent && go("boxes", agent, box), c: () => setWriting(true) });

  if (owners.error) return <Problem error={owners.error} retry={owners.reload} />;
  if (!owners.value) return <Loading />;
  if (!agent) return <Empty icon={<Inbox />} title={t("noBoxes")} text={t("noBoxesHint")} />;
  const usable = owner?.permitted && !owner.problem;
  return (
    <>
      <Split
        label={t("boxes")}
        open={open !== undefined}
        back={href("boxes", agent, box)}
        wide
        list={
          <>
            <Bar>
              <h1 className="sr-only">{t("boxes")}</h1>
              <Select
                aria-label={t("actAs")}
                value={agent}
                className="min-w-0 flex-1"
                onChange={(event) => go("boxes", event.target.value, box)}
              >
                {agents.map((each) => (
                  <option key={each.name} value={each.name}>
                    {each.name}
                    {each.unread ? ` (${each.unread})` : ""}
                  </option>
                ))}
              </Select>
              <Button
                aria-label={t("write")}
                title={`${t("write")} (c)`}
                disabled={!usable}
                onClick={() => setWriting(true)}
              >
                <MailPlus />
              </Button>
            </Bar>
            <div className="flex shrink-0 gap-2 border-b px-4 py-2">
              <Find query={query} setQuery={setQuery} label={t("searchMail")} />
            </div>
            <nav aria-label={t("boxes")} className="flex shrink-0 gap-1 overflow-x-auto border-b px-3 py-1.5">
              {BOXES.map((each) => (
                <a
                  key={each.name}
                  href={href("boxes", agent, each.name)}
                  aria-current={each.name === box ? "page" : undefined}
                  className={cn(
                    "flex items-center gap-1.5 rounded-md px-2.5 py-1.5 text-[13px] font-medium whitespace-nowrap [&_svg]:size-4",
                    each.name === box ? "bg-accent text-accent-foreground" : "text-muted-foreground hover:bg-muted",
                  )}
                >
                  {each.icon}
                  {t(`box_${each.name}`)}
                </a>
              ))}
            </nav>
            <div className="min-h-0 flex-1 overflow-y-auto">
              {!owner?.permitted ? (
                <Empty icon={<ShieldAlert />} title={t("notPermitted")} text={t("notPermittedHint")} />
              ) : owner.problem ? (
                <Empty icon={<ShieldAlert />} title={t("boxProblem")} text={owner.problem} />
              ) : query ? (
                <Found agent={agent} query={query} />
              ) : (
                <Mails agent={agent} box={box} current={open} />
              )}
            </div>
          </>
        }
      >
        {open && usable ? (
          <Thread key={open} agent={agent} id={open} box={box} types={owners.value.types} />
        ) : (
          <Empty icon={<Inbox />} title={t("chooseThread")} text={t("boxesHint")} />
        )}
      </Split>
      <Dialog open={writing} title={t("writeAs", { name: agent })} onClose={() => setWriting(false)}>
        <Write
          agent={agent}
          others={agents.map((each) => each.name).filter((name) => name !== agent)}
          types={owners.value.types}
          done={() => setWriting(false)}
        />
      </Dialog>
    </>
  );
}

const concerns = (agent: string) => (news: News) =>
  news.room === "boxes" && (news.agent === undefined || news.agent === agent);

function Mails({ agent, box, current }: { agent: string; box: BoxName; current: string | undefined }) {
  const t = useT();
  const page = useData<{ messages: MailRow[]; total: number }>("/api/boxes/page", { agent, box }, concerns(agent));
  if (page.error) return <Problem error={page.error} retry={page.reload} />;
  if (!page.value) return <Loading />;
  if (!page.value.messages.length) return <Empty icon={<Archive />} title={t("emptyBox")} />;
  return (
    <ul>
      {page.value.messages.map((mail) => (
        <li key={mail.file}>
          <MailLink agent={agent} box={box} mail={mail} current={mail.id === current}>
            {box === "outbox" ? `→ ${mail.to}` : mail.from}
          </MailLink>
        </li>
      ))}
    </ul>
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
    <a data-row href={href("boxes", props.agent, props.box, mail.id)} aria-current={props.current} className={rowStyle}>
      <Avatar name={(props.box === "outbox" ? mail.to : mail.from) ?? "?"} bot small />
      <span className="min-w-0 flex-1">
        <span className="flex items-baseline gap-2">
          <span className={cn("min-w-0 flex-1 truncate text-sm", mail.unread && "font-bold")}>{mail.title}</span>
          {mail.time && <Time ms={Date.parse(utc(mail.time))} className="shrink-0 text-xs text-muted-foreground" />}
        </span>
        <span className="mt-0.5 flex items-center gap-1.5 text-[13px] text-muted-foreground">
          <span className="min-w-0 flex-1 truncate">{props.children}</span>
          <Kind type={mail.type} />
          {mail.unread && <Badge variant="solid">{t("unread")}</Badge>}
        </span>
      </span>
    </a>
  );
}

function Kind({ type }: { type: string | undefined }) {
  if (!type) return null;
  return <Badge variant={type === "URGENT" ? "destructive" : type === "BR" ? "warning" : "default"}>{type}</Badge>;
}

function Found({ agent, query }: { agent: string; query: string }) {
  const t = useT();
  const found = useData<{ hits: MailRow[] }>("/api/boxes/search", { agent, q: query }, concerns(agent));
  if (found.error) return <Problem error={found.error} retry={found.reload} />;
  if (!found.value) return <Loading />;
  if (!found.value.hits.length) return <Empty icon={<Search />} title={t("nothingFound")} />;
  return (
    <ul>
      {found.value.hits.map((hit) => (
        <li key={`${hit.box} ${hit.file}`}>
          <MailLink agent={agent} box={hit.box ?? "inbox"} mail={hit} current={false}>
            <Highlit text={hit.text ?? ""} word={query.split(/\s+/)[0] ?? ""} />
          </MailLink>
        </li>
      ))}
    </ul>
  );
}

function Thread({ agent, id, box, types }: { agent: string; id: string; box: BoxName; types: string[] }) {
  const t = useT();
  const thread = useData<ThreadValue>("/api/boxes/thread", { agent, id }, concerns(agent));
  const [busy, setBusy] = useState(false);
  const value = thread.value;
  const move = async (what: "resolve" | "reject") => {
    if (!value || busy) return;
    setBusy(true);
    try {
      await post(`/api/boxes/${what}`, { agent, file: value.file });
      toast(t(what === "resolve" ? "resolved" : "rejected"));
      go("boxes", agent, box);
    } catch (error) {
      toastError(error, t("unreachable"));
      setBusy(false);
    }
  };
  const inInbox = value?.box === "inbox";
  const other = value ? (value.from === agent ? value.to : value.from) : undefined;
  return (
    <>
      <Bar>
        <Back to={href("boxes", agent, box)} />
        <div className="min-w-0 flex-1">
          <h2 className="truncate text-sm font-semibold">{value?.title ?? id}</h2>
          <p className="flex gap-1.5 pt-0.5">
            <Kind type={value?.type} />
            {value && <Badge variant="outline">{t(`box_${value.box}`)}</Badge>}
          </p>
        </div>
        {inInbox && (
          <>
            <Button size="sm" variant="outline" disabled={busy} aria-label={t("resolve")} onClick={() => void move("resolve")}>
              <Check />
              <span className="max-sm:hidden">{t("resolve")}</span>
            </Button>
            <Button size="sm" variant="destructive" disabled={busy} aria-label={t("reject")} onClick={() => void move("reject")}>
              <Ban />
              <span className="max-sm:hidden">{t("reject")}</span>
            </Button>
          </>
        )}
      </Bar>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label={t("thread")}>
        {thread.error ? (
          <Problem error={thread.error} retry={thread.reload} />
        ) : !value ? (
          <Loading />
        ) : (
          <div className="mx-auto flex max-w-4xl flex-col gap-3 p-4">
            {value.entries.map((entry, index) => (
              <Card key={`${entry.time} ${index}`}>
                <header className="flex items-center gap-2.5 px-4 pt-3 text-[13px]">
                  <Avatar name={entry.from} bot small />
                  <span className="font-semibold">{entry.from}</span>
                  <span className="text-muted-foreground">→ {entry.to}</span>
                  <Kind type={entry.type} />
                  <Time ms={Date.parse(utc(entry.time))} className="ml-auto text-xs text-muted-foreground" />
                </header>
                <div className="px-4 pt-2 pb-3.5 pl-12.5">
                  <Markdown text={entry.text} />
                  {entry.more && <p className="mt-1 text-xs text-muted-foreground">{entry.more}</p>}
                </div>
              </Card>
            ))}
          </div>
        )}
      </div>
      {inInbox && value.id && other && <Answer agent={agent} to={other} id={value.id} types={types} />}
    </>
  );
}

function Answer({ agent, to, id, types }: { agent: string; to: string; id: string; types: string[] }) {
  const t = useT();
  const [text, setText] = useState("");
  const [type, setType] = useState("ACK");
  const [busy, setBusy] = useState(false);
  const send = async () => {
    if (!text.trim() || busy) return;
    setBusy(true);
    try {
      const made = await post<{ note: string }>("/api/boxes/send", { agent, to, type, content: text, original: id });
      setText("");
      toast(t("sent"), { hint: made.note });
    } catch (error) {
      toastError(error, t("unreachable"));
    } finally {
      setBusy(false);
    }
  };
  const label = t("replyAs", { name: agent, to });
  return (
    <footer className="flex shrink-0 items-end gap-2 border-t bg-surface px-4 py-2.5">
      <Textarea
        rows={1}
        value={text}
        aria-label={label}
        placeholder={label}
        className="max-h-48 min-h-10 flex-1 field-sizing-content"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => isSend(event) && void send()}
      />
      <Select aria-label={t("type")} value={type} className="h-10" onChange={(event) => setType(event.target.value)}>
        {types.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </Select>
      <Button
        className="h-10"
        title="Ctrl+Enter"
        aria-label={t("reply")}
        disabled={!text.trim() || busy}
        onClick={() => void send()}
      >
        <Reply />
        <span className="max-sm:hidden">{t("reply")}</span>
      </Button>
    </footer>
  );
}

function Write({ agent, others, types, done }: { agent: string; others: string[]; types: string[]; done: () => void }) {
  const t = useT();
  const id = useId();
  const [to, setTo] = useState(others[0] ?? "");
  const [type, setType] = useState("INFO");
  const [title, setTitle] = useState("");
  const [content, setContent] = useState("");
  const [busy, setBusy] = useState(false);
  const ready = to !== "" && title.trim() !== "" && content.trim() !== "" && !busy;
  const send = async () => {
    if (!ready) return;
    setBusy(true);
    try {
      const made = await post<{ id: string; note: string }>("/api/boxes/send", { agent, to, type, title, content });
      toast(t("sent"), { hint: made.note });
      done();
      go("boxes", agent, "outbox", made.id);
    } catch (error) {
      toastError(error, t("unreachable"));
      setBusy(false);
    }
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => isSend(event) && void send()}
    >
      <div className="flex flex-wrap gap-3">
        <div className="flex flex-col gap-1">
          <Label htmlFor={`${id}r`}>{t("to")}</Label>
          <Select id={`${id}r`} value={to} onChange={(event) => setTo(event.target.value)}>
            {others.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </Select>
        </div>
        <div className="flex flex-col gap-1">
          <Label htmlFor={`${id}y`}>{t("type")}</Label>
          <Select id={`${id}y`} value={type} onChange={(event) => setType(event.target.value)}>
            {types.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </Select>
        </div>
      </div>
      <Label htmlFor={`${id}t`}>{t("subject")}</Label>
      <Input id={`${id}t`} autoFocus value={title} onChange={(event) => setTitle(event.target.value)} />
      <Label htmlFor={`${id}c`}>{t("body")}</Label>
      <Textarea id={`${id}c`} rows={7} value={content} onChange={(event) => setContent(event.target.value)} />
      <Button type="submit" className="self-end" disabled={!ready}>
        {t("send")}
      </Button>
    </form>
  );
}

/** Mails name their times in UTC, often without saying so. */
function utc(time: string): string {
  return /(Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time.replace(" ", "T")}Z`;
}
