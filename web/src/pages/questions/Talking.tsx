import { Ban, CheckCheck, Clock, Hourglass } from "lucide-react";
import { useEffect, useState } from "react";
import { Avatar, Time, useNow, useSpan } from "@/components/common";
import { Log } from "@/components/Log";
import { Back, Bar } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { type Draft, changeDraft, hasWords, unaskedTo, useDrafts } from "@/lib/assistant/drafts";
import { type Item, SENDING, type Talk, isOpen } from "@/lib/assistant/items";
import { answer, hasOlder, loadOlderOf, useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { isSend } from "@/lib/keys";
import { href } from "@/lib/router";
import { cn } from "@/lib/utils";
import { Box, type Purpose } from "@/pages/questions/Box";
import { Choice, Offered } from "@/pages/questions/Choice";
import { Contents } from "@/pages/questions/Contents";
import { enterBox } from "@/pages/questions/enterBox";
import { Folded } from "@/pages/questions/Folded";
import { contentsOf, isReady } from "@/pages/questions/reply";

const entry = "group/entry scroll-mt-4";
/** The bubble of what somebody came for has a frame for a moment. */
const framed = "outline-primary group-data-found/entry:outline-2";

interface Props {
  talk: Talk;
  /** The id of what somebody came for. */
  wanted: string | undefined;
}

export function Talking({ talk, wanted }: Props) {
  const t = useT();
  const state = useAssistant();
  const drafts = useDrafts();
  const [picked, setPicked] = useState("");
  const pick = (what: string) => {
    setPicked(what);
    enterBox();
  };
  const model = talk.items.findLast((item) => item.model)?.model;
  const purpose = purposeOf(talk, picked, wanted, drafts);
  const name = purpose.is === "unasked" ? unaskedTo(talk.key) : purpose.item.id;
  const answered = purpose.is === "answer" ? purpose.item.id : "";
  const shown = useShown(talk, wanted, state.known ? answered : undefined, picked);
  const isNew = !talk.items.length;
  useEffect(() => {
    if (isNew) enterBox(); // there is nothing to read
  }, []);
  return (
    <>
      <Bar>
        <Back to={href("questions")} />
        <Avatar name={talk.agent || talk.project} bot small />
        <div className="min-w-0 flex-1">
          <h2 className="truncate text-sm font-semibold">{talk.agent || t("agent")}</h2>
          <p className="truncate text-xs text-muted-foreground">
            {talk.project}
            {model && ` · ${model}`}
          </p>
        </div>
        {talk.waiting > 0 && <Badge variant="solid">{t("waitingCount", { n: talk.waiting })}</Badge>}
        {!state.open && <Badge variant="warning">{t("connecting")}</Badge>}
      </Bar>
      <Log
        label={t("questions")}
        first={talk.items[0]?.id}
        older={hasOlder(talk, state) ? () => loadOlderOf(talk) : undefined}
        shown={state.known && talk.items.some((item) => item.id === shown) ? shown : undefined}
      >
        {isNew && (
          <p className="py-6 text-center text-sm text-muted-foreground [overflow-wrap:anywhere]">
            {t("newTalk", { name: talk.agent || t("agent") })}
          </p>
        )}
        {talk.items.map((item) =>
          item.kind === "message" ? (
            <Written key={item.id} item={item} whole={item.id === wanted} />
          ) : (
            <Asked
              key={item.id}
              item={item}
              draft={drafts(item.id)}
              connected={state.open}
              current={item.id === answered && talk.waiting > 1}
              aimed={item.id === answered}
              whole={item.id === wanted}
              choose={() => setPicked(item.id)}
              enter={() => pick(item.id)}
            />
          ),
        )}
      </Log>
      <Box
        talk={talk}
        purpose={purpose}
        name={name}
        draft={drafts(name)}
        connected={state.open}
        choose={pick}
      />
    </>
  );
}

/**
 * While a question is open, the box answers it: the one that was picked or come for, else the one that waits longest. What
 * is being written in it for something else stays there.
 */
function purposeOf(talk: Talk, picked: string, wanted: string | undefined, drafts: (name: string) => Draft): Purpose {
  const open = talk.items.filter(isOpen);
  const chosen = open.find((each) => each.id === picked);
  const kept = talk.items.findLast((item) => item.kind !== "message" && !isOpen(item) && hasWords(drafts(item.id)));
  if (kept && !chosen) return { is: "kept", item: kept };
  const item = chosen ?? open.find((each) => each.id === wanted) ?? open[0];
  const writing = picked === "" && hasWords(drafts(unaskedTo(talk.key)));
  return !item || picked === "unasked" || writing ? { is: "unasked" } : { is: "answer", item };
}

/**
 * What is brought into sight: what somebody came for, and from then on what the box has come to answer without being told
 * to. Undefined where that is the end, which is in sight anyway. `answered` is undefined until that is known.
 */
function useShown(talk: Talk, wanted: string | undefined, answered: string | undefined, picked: string): string | undefined {
  const [aim, setAim] = useState<{ at?: string | undefined; of?: string | undefined; shown?: string | undefined }>({});
  if (aim.of !== wanted) setAim({ at: answered, of: wanted, shown: wanted });
  else if (aim.at !== answered) {
    const seen = answered === picked || answered === talk.items.at(-1)?.id;
    const comes = aim.at === undefined && wanted !== undefined;
    setAim({ at: answered, of: wanted, shown: comes ? wanted : seen ? undefined : answered || undefined });
  }
  return aim.shown;
}

interface AskedProps {
  item: Item;
  draft: Draft;
  connected: boolean;
  /** Whether it is what the box answers; `current` where it could be something else. */
  aimed: boolean;
  current: boolean;
  /** Whether all of a long text is shown at once. */
  whole: boolean;
  /** Makes it what the box answers; `enter` leads to where that is done, too. */
  choose: () => void;
  enter: () => void;
}

function Asked({ item, draft, connected, aimed, current, whole, choose, enter }: AskedProps) {
  const t = useT();
  const waiting = isOpen(item);
  const send = (article: HTMLElement) => {
    if (!waiting || !connected || !isReady(item, draft)) return;
    answer(item, contentsOf(item, draft));
    article.closest<HTMLElement>("[role=log]")?.focus(); // the options, of which one has the focus, go
  };
  return (
    <article
      className={cn("flex flex-col gap-2.5", entry)}
      data-item={item.id}
      data-state={item.state}
      data-aimed={aimed || undefined}
      onKeyDown={(event) => isSend(event) && send(event.currentTarget)}
    >
      <Card
        className={cn(
          "max-w-[42rem] min-w-0 rounded-tl-md",
          framed,
          waiting && "border-primary/60 shadow-sm",
          current && "outline-2",
        )}
      >
        <header className="flex flex-wrap items-center gap-2 px-4 pt-2.5 text-xs text-muted-foreground">
          <Badge variant={item.kind === "report" ? "default" : "accent"}>
            {t(item.kind === "report" ? "report" : "question")}
          </Badge>
          <Time ms={item.asked} />
          {item.client && <span>{item.client}</span>}
          {waiting && <CountDown item={item} />}
        </header>
        <div className="px-4 pt-1.5 pb-3">
          <Folded text={item.text} whole={whole} />
        </div>
        {waiting && item.choices.length > 0 && (
          <div className="flex flex-col gap-2.5 border-t px-4 py-3">
            {item.choices.map((choice, index) => (
              <Choice
                key={index}
                choice={choice}
                asked={item.text}
                name={`${item.id}-${index}`}
                chosen={draft.chosen[index] ?? []}
                onChoose={(labels) => {
                  changeDraft(item.id, ({ chosen }) => ({ chosen: { ...chosen, [index]: labels } }));
                  choose();
                }}
              />
            ))}
          </div>
        )}
        {!waiting && item.choices.length > 0 && (
          <div className="flex flex-col gap-1.5 border-t px-4 py-2.5">
            {item.choices.map((choice, index) => (
              <Offered key={index} choice={choice} />
            ))}
          </div>
        )}
        {waiting && !aimed && (
          <div className="border-t px-4 py-2 text-right">
            <Button variant="outline" size="sm" onClick={enter}>
              {t("answerThis")}
            </Button>
          </div>
        )}
      </Card>
      <Outcome item={item} whole={whole} />
    </article>
  );
}

function CountDown({ item }: { item: Item }) {
  const t = useT();
  const span = useSpan();
  const now = useNow() - useAssistant().ahead;
  const left = (item.asked + item.timeout * 1000 - now) / 1000;
  if (left < 0.5) return null; // the hub says when it is over, and its clock may have been set
  return (
    <Badge variant={left < 60 ? "warning" : "outline"} className="ml-auto tabular-nums">
      <Clock aria-hidden />
      {t("left", { span: span(left) })}
    </Badge>
  );
}

function Outcome({ item, whole }: { item: Item; whole: boolean }) {
  const t = useT();
  const refused = item.state === "refused";
  if (item.state === "answered" || item.state === SENDING || refused) {
    return (
      <div className="ml-auto flex max-w-[min(36rem,90%)] flex-col items-end gap-1">
        {item.contents.length > 0 && (
          <div className="rounded-2xl rounded-tr-md bg-accent px-3.5 py-2 text-accent-foreground">
            <Contents contents={item.contents} whole={whole} />
          </div>
        )}
        <p className="flex items-center gap-1.5 text-xs text-muted-foreground">
          {item.state === SENDING ? (
            <Badge>{t("sending")}</Badge>
          ) : refused ? (
            <>
              <Ban className="size-3.5" aria-hidden />
              {item.by ? t("refusedBy", { name: item.by }) : t("refused")} <Time ms={item.ended} />
            </>
          ) : (
            <>
              <CheckCheck className="size-3.5 text-positive" aria-hidden />
              {item.by ? t("answeredBy", { name: item.by }) : t("answered")} <Time ms={item.ended} />
            </>
          )}
        </p>
      </div>
    );
  }
  const words = { timeout: "timedOut", cancelled: "cancelledWhy", withdrawn: "withdrawnWhy" } as const;
  const key = words[item.state as keyof typeof words];
  if (!key) return null;
  return (
    <p className="flex items-center gap-1.5 text-xs text-muted-foreground italic">
      <Hourglass className="size-3.5" aria-hidden />
      {t(key)}
    </p>
  );
}

function Written({ item, whole }: { item: Item; whole: boolean }) {
  const t = useT();
  return (
    <article className={cn("ml-auto flex max-w-[min(36rem,90%)] flex-col items-end gap-1", entry)} data-item={item.id}>
      <div className={cn("rounded-2xl rounded-tr-md bg-accent px-3.5 py-2 text-accent-foreground", framed)}>
        <Folded text={item.text} whole={whole} />
        <Contents contents={item.contents} whole={whole} />
      </div>
      <p className="flex items-center gap-1.5 text-xs text-muted-foreground">
        {item.by && <span>{item.by}</span>}
        <Time ms={item.asked} />
        <Badge variant={item.state === "picked_up" ? "positive" : "default"}>
          {t(item.state === "picked_up" ? "pickedUp" : item.state === SENDING ? "sending" : "notPickedUp")}
        </Badge>
      </p>
    </article>
  );
}
