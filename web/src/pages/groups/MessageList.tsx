import { ArrowDown, Bot, Check, CircleAlert, CircleHelp, CircleStop, CornerUpLeft, Minus, Pencil, Reply, Undo2 } from "lucide-react";
import { Fragment, type ReactNode, memo, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Avatar, Time } from "@/components/common";
import { Markdown } from "@/components/Markdown";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { useEndInSight } from "@/lib/end";
import { isKey, useLanguage, useT } from "@/lib/i18n";
import { useAgain } from "@/lib/router";
import { cn } from "@/lib/utils";
import { CardText } from "@/pages/groups/Card";
import { useWrittenHere } from "@/pages/groups/posted";
import { outcomeKey, reasonText, stageText, toneOf } from "@/pages/groups/reasons";
import { Thread, firstOfThreads, saysThread } from "@/pages/groups/Thread";
import type { Decision, Message } from "@/pages/groups/types";

const TOGETHER = 5 * 60_000;

interface Props {
  chat: string;
  messages: Message[];
  older: boolean;
  loadOlder: () => Promise<void>;
  decisions: Record<string, Decision[]>;
  wanted: string | undefined;
  /** How often somebody has sent something from here. */
  sent: number;
  onReply: (message: Message) => void;
}

/** Drawn anew only when something of it has changed: not with each key that is pressed in the field below. */
export const MessageList = memo(function MessageList(props: Props) {
  const { chat, messages, older, loadOlder, decisions, wanted, sent, onReply } = props;
  const t = useT();
  const language = useLanguage();
  const { frame, atEnd, onScroll } = useEndInSight();
  const isHere = useWrittenHere();
  const again = useAgain();
  const height = useRef(0);
  const first = useRef<string | null | undefined>(undefined);
  const [below, setBelow] = useState(false);
  const [loading, setLoading] = useState(false);

  // New messages keep the end in sight if it was; older ones leave in place what is being read.
  useLayoutEffect(() => {
    const box = frame.current;
    if (!box) return;
    if (first.current !== undefined && first.current !== messages[0]?.id && !atEnd.current) {
      box.scrollTop += box.scrollHeight - height.current;
    } else if (atEnd.current) box.scrollTop = box.scrollHeight;
    else setBelow(true);
    height.current = box.scrollHeight;
    first.current = messages[0]?.id;
  }, [messages, frame, atEnd]);
  useEffect(() => {
    if (!wanted) return;
    atEnd.current = false;
    jump(wanted);
  }, [wanted, again, atEnd]);
  useEffect(() => {
    const box = frame.current;
    if (!sent || !box) return;
    atEnd.current = true; // what was sent will be said there
    box.scrollTop = box.scrollHeight;
  }, [sent, frame, atEnd]);

  const byId = new Map(messages.map((message) => [message.id, message]));
  const begun = firstOfThreads(messages);
  const rootOf = ({ thread = "", root }: Message) => (root ? byId.get(root) : begun.get(thread));
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={frame}
        tabIndex={0}
        role="log"
        aria-label={t("messages")}
        className="h-full overflow-y-auto overscroll-contain focus-visible:-outline-offset-2"
        onClick={(event) => {
          // What somebody opens stays where it is, though it grows.
          if (event.target instanceof Element && event.target.closest("[aria-expanded]")) atEnd.current = false;
        }}
        onScroll={() => {
          onScroll();
          if (atEnd.current) setBelow(false);
        }}
      >
        <div className="mx-auto flex max-w-4xl flex-col px-3 py-4 sm:px-5">
          {older ? (
            <Button
              variant="outline"
              size="sm"
              className="mb-3 self-center"
              disabled={loading}
              onClick={() => {
                setLoading(true);
                atEnd.current = false;
                void loadOlder().finally(() => setLoading(false));
              }}
            >
              {t("loadOlder")}
            </Button>
          ) : (
            <p className="mb-3 self-center text-xs text-muted-foreground">{t("beginning")}</p>
          )}
          {messages.map((message, index) => {
            const before = messages[index - 1];
            const day = new Date(message.ts).toDateString();
            const newDay = !before || new Date(before.ts).toDateString() !== day;
            const together =
              !newDay &&
              before.sender === message.sender &&
              isHere(before.id) === isHere(message.id) &&
              !before.recalled &&
              !message.reply_to &&
              message.ts - before.ts < TOGETHER;
            return (
              <Fragment key={message.id ?? `${message.ts}-${index}`}>
                {newDay && (
                  <p className="my-3 flex items-center gap-3 text-xs text-muted-foreground before:h-px before:flex-1 before:bg-border after:h-px after:flex-1 after:bg-border">
                    {new Date(message.ts).toLocaleDateString(language, {
                      weekday: "long",
                      month: "long",
                      day: "numeric",
                    })}
                  </p>
                )}
                {message.recalled ? (
                  <Recalled message={message} />
                ) : (
                  <Row
                    message={message}
                    together={together}
                    here={message.bot && isHere(message.id)}
                    answered={message.reply_to ? byId.get(message.reply_to) : undefined}
                    thread={
                      saysThread(message, together ? before : undefined) && (
                        <Thread chat={chat} message={message} root={rootOf(message)} jump={jump} />
                      )
                    }
                    decisions={(message.id && decisions[message.id]) || undefined}
                    onReply={() => onReply(message)}
                  />
                )}
              </Fragment>
            );
          })}
        </div>
      </div>
      {below && (
        <Button
          size="sm"
          className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-lg"
          onClick={() => {
            const box = frame.current;
            if (box) box.scrollTop = box.scrollHeight;
          }}
        >
          <ArrowDown />
          {t("newBelow")}
        </Button>
      )}
    </div>
  );
});

function Recalled({ message }: { message: Message }) {
  const t = useT();
  return (
    <p data-recalled className="my-2 flex items-center justify-center gap-1.5 text-xs text-muted-foreground italic">
      <Undo2 className="size-3.5" aria-hidden />
      {message.name ? t("recalledBy", { name: message.name }) : t("recalled")}
      <Time ms={message.ts} />
    </p>
  );
}

interface RowProps {
  message: Message;
  together: boolean;
  /** Whether a person wrote it on this page. */
  here: boolean;
  answered: Message | undefined;
  thread: ReactNode;
  decisions: Decision[] | undefined;
  onReply: () => void;
}

function Row({ message, together, here, answered, thread, decisions, onReply }: RowProps) {
  const t = useT();
  return (
    <article
      id={message.id ? `m-${message.id}` : undefined}
      aria-label={t("messageOf", { name: message.name })}
      className={cn("group flex gap-2.5 rounded-lg px-1 transition-colors duration-700", together ? "mt-1" : "mt-3.5")}
    >
      {together ? <span className="w-9 shrink-0" /> : <Avatar name={message.name} bot={message.bot} />}
      <div className="min-w-0 flex-1">
        {!together && (
          <p className="mb-1 flex items-center gap-1.5 text-[13px]">
            <span className="truncate font-semibold">{message.name}</span>
            {message.bot && (
              <Badge variant="accent" className="px-1.5 text-[11px]">
                <Bot aria-hidden />
                {t("bot")}
              </Badge>
            )}
            <Time ms={message.ts} className="shrink-0 text-xs text-muted-foreground" />
            {here && <Badge variant="outline">{t("writtenHere")}</Badge>}
            {message.source === "history" && <Badge variant="outline">{t("fromHistory")}</Badge>}
          </p>
        )}
        <div className="flex items-end gap-1">
          <div
            className={cn(
              "max-w-[min(44rem,100%)] min-w-0 rounded-2xl rounded-tl-md border px-3.5 py-2",
              message.bot ? "bg-bubble-bot" : "bg-bubble",
            )}
          >
            {thread}
            {message.reply_to && (
              <button
                type="button"
                onClick={() => jump(message.reply_to ?? "")}
                className="mb-1 flex max-w-full items-center gap-1.5 border-l-2 border-primary pl-2 text-left text-xs text-muted-foreground"
              >
                <CornerUpLeft className="size-3 shrink-0" aria-hidden />
                <span className="truncate">
                  {answered ? `${answered.name}: ${answered.recalled ? t("recalled") : answered.text}` : t("earlier")}
                </span>
              </button>
            )}
            <Type name={message.type} />
            {message.type === "interactive" ? <CardText message={message} /> : <Markdown text={message.text} />}
            {message.edited && (
              <p className="mt-0.5 flex items-center gap-1 text-xs text-muted-foreground">
                <Pencil className="size-3" aria-hidden />
                {t("edited")}
              </p>
            )}
          </div>
          <Button
            variant="ghost"
            size="icon"
            aria-label={t("replyTo", { name: message.name })}
            title={t("reply")}
            onClick={onReply}
            className="size-7 shrink-0 opacity-0 group-hover:opacity-100 focus-visible:opacity-100 max-md:opacity-60"
          >
            <Reply />
          </Button>
        </div>
        {decisions && <Decisions decisions={decisions} />}
      </div>
    </article>
  );
}

/** What it is where that is not seen by itself, as cards and longer texts are. */
function Type({ name }: { name: string | undefined }) {
  const t = useT();
  const key = `type_${name}`;
  return isKey(key) ? <Badge className="mb-1">{t(key)}</Badge> : null;
}

function Decisions({ decisions }: { decisions: Decision[] }) {
  const t = useT();
  const language = useLanguage();
  const [open, setOpen] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.scrollIntoView({ block: "nearest" }); // some browsers give a promise, which is no clean-up
  }, [open]);
  const sorted = [...decisions].sort((one, other) => one.agent.localeCompare(other.agent));
  return (
    <div className="mt-1">
      <button
        type="button"
        aria-expanded={open}
        title={t("whyTitle")}
        onClick={() => setOpen(!open)}
        className="flex flex-wrap gap-1.5 rounded-full"
      >
        {sorted.map((each) => (
          <Badge key={each.agent} variant={toneOf(each)}>
            <OutcomeIcon decision={each} />
            {each.agent}
            <span className="font-normal">{t(outcomeKey(each))}</span>
          </Badge>
        ))}
      </button>
      {open && (
        <ul ref={list} className="mt-1.5 flex max-w-xl flex-col gap-2 rounded-lg border bg-surface p-3 text-[13px]">
          {sorted.map((each) => (
            <li key={each.agent}>
              <p>
                <span className="font-semibold">{each.agent}</span> · {reasonText(each, language)}
              </p>
              {each.why && <p className="break-words">{each.why}</p>}
              {each.before && (
                <p className="text-muted-foreground">{t("gateSaid", { reason: reasonText(each.before, language) })}</p>
              )}
              <div className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-muted-foreground">
                <Score decision={each.before ?? each} />
                <span>{stageText(each.stage, language)}</span>
                <code className="rounded bg-muted px-1">{each.reason}</code>
              </div>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function OutcomeIcon({ decision }: { decision: Decision }) {
  if (decision.stage === "guard") return <CircleStop aria-hidden />;
  if (toneOf(decision) === "destructive") return <CircleAlert aria-hidden />;
  if (decision.respond === null) return <CircleHelp aria-hidden />;
  return decision.respond ? <Check aria-hidden /> : <Minus aria-hidden />;
}

/** How likely the agent was meant; neither the loop guard nor the end of an answer asks that. */
function Score({ decision }: { decision: Decision }) {
  const t = useT();
  if (decision.stage === "guard" || decision.stage === "answer") return null;
  const percent = Math.round((decision.score ?? 0) * 100);
  return (
    <>
      <span className="h-1.5 w-24 overflow-hidden rounded-full bg-muted" aria-hidden>
        <span className="block h-full rounded-full bg-primary" style={{ width: `${percent}%` }} />
      </span>
      <span>{t("score", { n: percent })}</span>
      <span>·</span>
    </>
  );
}

/** Shows a message that is on the page, and marks it for a moment. */
function jump(id: string): void {
  const found = document.getElementById(`m-${id}`);
  if (!found) return;
  found.scrollIntoView({ block: "center" });
  found.classList.add("bg-accent");
  setTimeout(() => found.classList.remove("bg-accent"), 1600);
}
