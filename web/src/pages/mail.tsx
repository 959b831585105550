import { CheckCheck, Clock, Lock, Mail, MailPlus, Paperclip, Reply, Search, Users } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Avatar, Empty, Loading, Marked, Problem, Time, useNow, useSpan } from "@/components/common";
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
import { type Key, listed, useLanguage, useT } from "@/lib/i18n";
import { isSend, useKeys } from "@/lib/keys";
import { go, href } from "@/lib/router";
import { cn, onceKey } from "@/lib/utils";
import { Find } from "@/pages/groups";

interface Project {
  key: string;
  slug: string;
}
interface Agent {
  name: string;
  project: string;
  program: string;
  model: string;
  task: string;
  last_active: string;
  unread: number;
}
interface Conversation {
  id: string;
  subject: string;
  messages: number;
  senders: string[];
  last_from: string;
  last_ts: number;
  importance: string;
}
interface Letter {
  id: string;
  thread_id: string | null;
  from: string;
  to: string[];
  cc?: string[];
  subject: string;
  created_ts: number;
  importance: string;
  ack_required: boolean;
  body_md?: string;
  attachments?: { type?: string; path?: string }[];
  read?: string | null;
  acknowledged?: string | null;
  kind?: string;
}
interface Point {
  text: string;
  from: string;
  message_id: string;
  owner?: string | null;
  done?: boolean;
}
interface Summary {
  messages: number;
  participants: { name: string; messages: number }[];
  key_points: Point[];
  decisions: Point[];
  open_questions: Point[];
  action_items: Point[];
}
interface ThreadValue {
  id: string;
  messages: Letter[];
  summary: Summary;
}
interface Hit {
  id: string;
  thread_id: string | null;
  subject: string;
  from: string;
  created_ts: number;
  snippet: string;
}
interface Claim {
  path: string;
  agent: string;
  exclusive: boolean;
  reason: string;
  expires_ts: number;
}

const ofMail = (news: News) => news.room === "mail";
const VIEWS: { name: string; title: Key; icon: ReactNode }[] = [
  { name: "threads", title: "threads", icon: <Mail /> },
  { name: "agents", title: "agents", icon: <Users /> },
  { name: "claims", title: "claims", icon: <Lock /> },
];

/** #/mail/PROJECT/VIEW/WHAT/WHICH: a thread, or an agent and one of its letters. */
export function MailPage({ place }: { place: string[] }) {
  const t = useT();
  const projects = useData<{ projects: Project[] }>("/api/mail/projects", {}, ofMail);
  const [query, setQuery] = useState("");
  const [writing, setWriting] = useState<string[] | null>(null);
  const known = projects.value?.projects ?? [];
  const project = place[0] ?? known.at(-1)?.key;
  const view = place[1] ?? "threads";
  const open = place[2];
  useKeys({
    Escape: () => project && go("mail", project, view),
    c: () => setWriting([]),
  });

  if (projects.error) return <Problem error={projects.error} retry={projects.reload} />;
  if (!projects.value) return <Loading />;
  if (!project) return <Empty icon={<Mail />} title={t("noMail")} text={t("noMailHint")} />;
  return (
    <>
      <Split
        label={t("mail")}
        open={open !== undefined}
        back={href("mail", project, view)}
        wide
        list={
          <>
            <Bar>
              <h1 className="sr-only">{t("mail")}</h1>
              <Select
                aria-label={t("project")}
                value={project}
                className="min-w-0 flex-1"
                onChange={(event) => go("mail", event.target.value, view)}
              >
                {known.map((each) => (
                  <option key={each.key} value={each.key}>
                    {each.key}
                  </option>
                ))}
              </Select>
              <Button aria-label={t("write")} title={`${t("write")} (c)`} onClick={() => setWriting([])}>
                <MailPlus />
              </Button>
            </Bar>
            <div className="flex shrink-0 gap-2 border-b px-4 py-2">
              <Find query={query} setQuery={setQuery} label={t("searchMail")} />
            </div>
            <Views view={view} link={(name) => href("mail", project, name)} />
            <div className="min-h-0 flex-1 overflow-y-auto">
              {query ? (
                <Found project={project} query={query} />
              ) : view === "agents" ? (
                <Agents project={project} current={open} />
              ) : view === "claims" ? (
                <Claims project={project} />
              ) : (
                <Threads project={project} current={open} />
              )}
            </div>
          </>
        }
      >
        {view === "agents" && open ? (
          <Inbox project={project} agent={open} write={() => setWriting([open])} />
        ) : open ? (
          <Thread key={open} project={project} id={open} view={view} />
        ) : (
          <Empty icon={<Mail />} title={t(view === "agents" ? "chooseAgent" : "chooseThread")} text={t("mailHint")} />
        )}
      </Split>
      <Dialog open={writing !== null} title={t("writeAsPerson")} onClose={() => setWriting(null)}>
        {writing && <Write project={project} to={writing} done={() => setWriting(null)} />}
      </Dialog>
    </>
  );
}

export function Views(props: { view: string; link: (name: string) => string }) {
  const t = useT();
  return (
    <nav aria-label={t("views")} className="flex shrink-0 gap-1 border-b px-3 py-1.5">
      {VIEWS.map((each) => (
        <a
          key={each.name}
          href={props.link(each.name)}
          aria-current={each.name === props.view ? "page" : undefined}
          className={cn(
            "flex items-center gap-1.5 rounded-md px-2.5 py-1.5 text-[13px] font-medium [&_svg]:size-4",
            each.name === props.view ? "bg-accent text-accent-foreground" : "text-muted-foreground hover:bg-muted",
          )}
        >
          {each.icon}
          {t(each.title)}
        </a>
      ))}
    </nav>
  );
}

function Threads({ project, current }: { project: string; current: string | undefined }) {
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
          <a
            data-row
            href={href("mail", project, "threads", each.id)}
            aria-current={each.id === current}
            className={rowStyle}
          >
            <Avatar name={each.last_from} small />
            <span className="min-w-0 flex-1">
              <span className="flex items-baseline gap-2">
                <span className="min-w-0 flex-1 truncate text-sm font-semibold">{each.subject}</span>
                <Time ms={each.last_ts * 1000} className="shrink-0 text-xs text-muted-foreground" />
              </span>
              <span className="mt-1 flex items-center gap-1.5 text-[13px] text-muted-foreground">
                <span className="min-w-0 flex-1 truncate">{listed(each.senders, language)}</span>
                <Importance level={each.importance} />
                <Badge>{each.messages}</Badge>
              </span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Importance({ level }: { level: string }) {
  const t = useT();
  if (level === "urgent") return <Badge variant="destructive">{t("urgent")}</Badge>;
  if (level === "high") return <Badge variant="warning">{t("high")}</Badge>;
  return null;
}

function Agents({ project, current }: { project: string; current: string | undefined }) {
  const t = useT();
  const agents = useData<{ agents: Agent[] }>("/api/mail/agents", { project }, ofMail);
  if (agents.error) return <Problem error={agents.error} retry={agents.reload} />;
  if (!agents.value) return <Loading />;
  if (!agents.value.agents.length) return <Empty icon={<Users />} title={t("noAgents")} />;
  return (
    <ul>
      {agents.value.agents.map((agent) => (
        <li key={`${agent.project} ${agent.name}`}>
          <a
            data-row
            href={href("mail", project, "agents", agent.name)}
            aria-current={agent.name === current}
            className={rowStyle}
          >
            <Avatar name={agent.name} bot={agent.program !== "person"} />
            <span className="min-w-0 flex-1">
              <span className="flex items-baseline gap-2">
                <span className="min-w-0 flex-1 truncate text-sm font-semibold">{agent.name}</span>
                <Time ms={Date.parse(agent.last_active)} className="shrink-0 text-xs text-muted-foreground" />
              </span>
              <span className="mt-0.5 flex items-center gap-1.5 text-[13px] text-muted-foreground">
                <span className="min-w-0 flex-1 truncate">
                  {[agent.task, agent.program === "person" ? t("person") : agent.program, agent.model]
                    .filter(Boolean)
                    .join(" · ")}
                </span>
                {agent.unread > 0 && <Badge variant="solid">{t("unreadCount", { n: agent.unread })}</Badge>}
              </span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Claims({ project }: { project: string }) {
  const t = useT();
  const span = useSpan();
  const now = useNow();
  const claims = useData<{ claims: Claim[] }>("/api/mail/claims", { project }, ofMail);
  if (claims.error) return <Problem error={claims.error} retry={claims.reload} />;
  if (!claims.value) return <Loading />;
  const active = claims.value.claims.filter((claim) => claim.expires_ts * 1000 > now);
  if (!active.length) return <Empty icon={<Lock />} title={t("noClaims")} text={t("noClaimsHint")} />;
  return (
    <ul>
      {active.map((claim) => (
        <li key={`${claim.path} ${claim.agent}`} className={cn(rowStyle, "hover:bg-transparent")}>
          <Avatar name={claim.agent} bot small />
          <div className="min-w-0 flex-1 text-[13px]">
            <p className="font-mono text-sm break-all">{claim.path}</p>
            <p className="mt-0.5 text-muted-foreground">
              {claim.agent}
              {claim.reason && ` · ${claim.reason}`}
            </p>
            <p className="mt-1 flex gap-1.5">
              <Badge variant={claim.exclusive ? "warning" : "default"}>{t(claim.exclusive ? "exclusive" : "shared")}</Badge>
              <Badge variant="outline">
                <Clock aria-hidden />
                {t("left", { span: span(claim.expires_ts - now / 1000) })}
              </Badge>
            </p>
          </div>
        </li>
      ))}
    </ul>
  );
}

function Found({ project, query }: { project: string; query: string }) {
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

function Inbox({ project, agent, write }: { project: string; agent: string; write: () => void }) {
  const t = useT();
  const language = useLanguage();
  const [box, setBox] = useState<"inbox" | "outbox">("inbox");
  const letters = useData<{ messages: Letter[] }>(`/api/mail/${box}`, { project, agent }, ofMail);
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
        <Button size="sm" variant="outline" aria-label={t("write")} onClick={write}>
          <MailPlus />
          <span className="max-sm:hidden">{t("write")}</span>
        </Button>
      </Bar>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {letters.error ? (
          <Problem error={letters.error} retry={letters.reload} />
        ) : !letters.value ? (
          <Loading />
        ) : !letters.value.messages.length ? (
          <Empty icon={<Mail />} title={t("emptyBox")} />
        ) : (
          <ul>
            {letters.value.messages.map((letter) => (
              <li key={letter.id}>
                <a href={href("mail", project, "threads", letter.thread_id ?? letter.id)} className={rowStyle}>
                  <Avatar name={box === "inbox" ? letter.from : (letter.to[0] ?? "")} small />
                  <span className="min-w-0 flex-1">
                    <span className="flex items-baseline gap-2">
                      <span className={cn("min-w-0 flex-1 truncate text-sm", letter.read === null && "font-bold")}>
                        {letter.subject}
                      </span>
                      <Time ms={letter.created_ts * 1000} className="shrink-0 text-xs text-muted-foreground" />
                    </span>
                    <span className="mt-0.5 flex items-center gap-1.5 text-[13px] text-muted-foreground">
                      <span className="min-w-0 flex-1 truncate">
                        {box === "inbox" ? letter.from : listed(letter.to, language)}
                      </span>
                      <Importance level={letter.importance} />
                      {letter.read === null && <Badge variant="solid">{t("unread")}</Badge>}
                      {letter.acknowledged ? (
                        <Badge variant="positive">{t("acknowledged")}</Badge>
                      ) : letter.ack_required ? (
                        <Badge variant="warning">{t("toAcknowledge")}</Badge>
                      ) : null}
                    </span>
                  </span>
                </a>
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

function Thread({ project, id, view }: { project: string; id: string; view: string }) {
  const t = useT();
  const thread = useData<ThreadValue>("/api/mail/thread", { project, id }, ofMail);
  const last = thread.value?.messages.at(-1);
  return (
    <>
      <Bar>
        <Back to={href("mail", project, view)} />
        <div className="min-w-0 flex-1">
          <h2 className="truncate text-sm font-semibold">{thread.value?.messages[0]?.subject ?? id}</h2>
          <p className="truncate text-xs text-muted-foreground">{id}</p>
        </div>
      </Bar>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label={t("thread")}>
        {thread.error ? (
          <Problem error={thread.error} retry={thread.reload} />
        ) : !thread.value ? (
          <Loading />
        ) : (
          <div className="mx-auto flex max-w-4xl flex-col gap-3 p-4">
            {thread.value.messages.length > 1 && <InShort summary={thread.value.summary} />}
            {thread.value.messages.map((letter) => (
              <LetterCard key={letter.id} letter={letter} />
            ))}
          </div>
        )}
      </div>
      {last && <Answer id={last.id} to={last.from} />}
    </>
  );
}

function LetterCard({ letter }: { letter: Letter }) {
  const t = useT();
  const language = useLanguage();
  return (
    <Card>
      <header className="flex items-start gap-2.5 px-4 pt-3">
        <Avatar name={letter.from} bot={letter.from !== "human"} small />
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-[13px]">
            <span className="font-semibold">{letter.from}</span>
            <span className="text-muted-foreground">
              → {listed(letter.to, language)}
              {letter.cc && ` · ${t("cc")} ${listed(letter.cc, language)}`}
            </span>
            <Importance level={letter.importance} />
            {letter.ack_required && <Badge variant="warning">{t("ackWanted")}</Badge>}
            <Time ms={letter.created_ts * 1000} className="ml-auto text-xs text-muted-foreground" />
          </p>
        </div>
      </header>
      <div className="px-4 pt-2 pb-3.5 pl-12.5">
        <Markdown text={letter.body_md ?? ""} />
        {letter.attachments?.map(
          (each) =>
            each.path && (
              <p key={each.path} className="mt-2 flex items-center gap-1.5 text-xs text-muted-foreground">
                <Paperclip className="size-3.5" aria-hidden />
                {each.path}
              </p>
            ),
        )}
      </div>
    </Card>
  );
}

function InShort({ summary }: { summary: Summary }) {
  const t = useT();
  const language = useLanguage();
  const lists: [Key, Point[]][] = [
    ["decisions", summary.decisions],
    ["openQuestions", summary.open_questions],
    ["actionItems", summary.action_items],
    ["keyPoints", summary.key_points],
  ];
  const shown = lists.filter(([, points]) => points.length);
  return (
    <details open className="rounded-xl border bg-accent/40 px-4 py-3 text-[13px]">
      <summary className="font-semibold">
        {t("inShort", { n: summary.messages, who: listed(summary.participants.map((each) => each.name), language) })}
      </summary>
      <div className="mt-2 grid gap-x-6 gap-y-3 sm:grid-cols-2">
        {shown.map(([title, points]) => (
          <section key={title}>
            <h3 className="mb-1 text-xs font-semibold text-muted-foreground">{t(title)}</h3>
            <ul className="flex flex-col gap-1">
              {points.slice(0, 6).map((point) => (
                <li key={`${point.message_id} ${point.text}`} className={cn("flex gap-1.5", point.done && "line-through opacity-70")}>
                  <span aria-hidden>{point.done === undefined ? "•" : point.done ? "☑" : "☐"}</span>
                  <span className="min-w-0 [overflow-wrap:anywhere]">
                    {plain(point.text)} <span className="text-muted-foreground">— {point.owner ?? point.from}</span>
                  </span>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </details>
  );
}

/** Without the marks of Markdown, of which a sentence that was cut out has only some. */
function plain(text: string): string {
  return text.replace(/\*\*|`/g, "");
}

function Answer({ id, to }: { id: string; to: string }) {
  const t = useT();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const key = useRef(onceKey());
  const send = async () => {
    if (!text.trim() || busy) return;
    setBusy(true);
    try {
      await post("/api/mail/reply", { id, body: text, key: key.current });
      key.current = onceKey();
      setText("");
      toast(t("sent"));
    } catch (error) {
      toastError(error, t("unreachable"));
    } finally {
      setBusy(false);
    }
  };
  const label = t("replyAsPerson", { name: to });
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

function Write({ project, to, done }: { project: string; to: string[]; done: () => void }) {
  const t = useT();
  const id = useId();
  const agents = useData<{ agents: Agent[] }>("/api/mail/agents", { project }, ofMail);
  const [chosen, setChosen] = useState<string[]>(to);
  const [subject, setSubject] = useState("");
  const [body, setBody] = useState("");
  const [importance, setImportance] = useState("normal");
  const [ack, setAck] = useState(false);
  const [busy, setBusy] = useState(false);
  const key = useRef(onceKey());
  const ready = chosen.length > 0 && subject.trim() !== "" && body.trim() !== "" && !busy;
  const names = (agents.value?.agents ?? []).filter((agent) => agent.program !== "person").map((agent) => agent.name);
  const subjectField = useRef<HTMLInputElement>(null);
  useEffect(() => subjectField.current?.focus(), []);

  const send = async () => {
    if (!ready) return;
    setBusy(true);
    try {
      const made = await post<{ id: string; thread_id: string | null }>("/api/mail/send", {
        project,
        to: chosen,
        subject,
        body,
        importance,
        ack,
        key: key.current,
      });
      toast(t("sent"));
      done();
      go("mail", project, "threads", made.thread_id ?? made.id);
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
      <p className="text-[13px] text-muted-foreground">{t("asPersonHint")}</p>
      <fieldset>
        <legend className="mb-1 text-[13px] font-medium text-muted-foreground">{t("to")}</legend>
        <div className="flex flex-wrap gap-1.5">
          {names.map((name) => (
            <label
              key={name}
              className={cn(
                "flex cursor-pointer items-center gap-1.5 rounded-full border px-3 py-1 text-[13px] has-focus-visible:outline-2 has-focus-visible:outline-ring",
                chosen.includes(name) && "border-primary bg-accent text-accent-foreground",
              )}
            >
              <input
                type="checkbox"
                className="sr-only"
                checked={chosen.includes(name)}
                onChange={() =>
                  setChosen(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name])
                }
              />
              {chosen.includes(name) && <CheckCheck className="size-3.5" aria-hidden />}
              {name}
            </label>
          ))}
        </div>
      </fieldset>
      <Label htmlFor={`${id}s`}>{t("subject")}</Label>
      <Input ref={subjectField} id={`${id}s`} value={subject} onChange={(event) => setSubject(event.target.value)} />
      <Label htmlFor={`${id}b`}>{t("body")}</Label>
      <Textarea id={`${id}b`} rows={7} value={body} onChange={(event) => setBody(event.target.value)} />
      <div className="flex flex-wrap items-center gap-3">
        <Select aria-label={t("importance")} value={importance} onChange={(event) => setImportance(event.target.value)}>
          {(["low", "normal", "high", "urgent"] as const).map((level) => (
            <option key={level} value={level}>
              {t(level)}
            </option>
          ))}
        </Select>
        <label className="flex items-center gap-2 text-sm">
          <input type="checkbox" checked={ack} onChange={(event) => setAck(event.target.checked)} />
          {t("ackWanted")}
        </label>
        <Button type="submit" className="ml-auto" disabled={!ready}>
          {t("send")}
        </Button>
      </div>
    </form>
  );
}
