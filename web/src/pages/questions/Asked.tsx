import { Ban, CheckCheck, CircleHelp, Clock, Hourglass, SendHorizontal } from "lucide-react";
import type { ReactNode } from "react";
import { Time, useNow, useSpan } from "@/components/common";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { type Draft, choose, hasWords } from "@/lib/assistant/drafts";
import { type Item, SENDING, isOpen, takesOne } from "@/lib/assistant/items";
import { useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { isSend } from "@/lib/keys";
import { cn, plain } from "@/lib/utils";
import { Choice, Key, Offered, isMeant, toggled } from "@/pages/questions/Choice";
import { Contents } from "@/pages/questions/Contents";
import { Folded } from "@/pages/questions/Folded";
import { contentsOf, inWords, isReady, readAnswer } from "@/pages/questions/reply";
import type { Give } from "@/pages/questions/useLeading";

export const entry = "group/entry scroll-mt-4";
/** The bubble of what somebody came for has a frame for a moment. */
export const framed = "outline-primary group-data-found/entry:outline-2";

interface Props {
  item: Item;
  draft: Draft;
  connected: boolean;
  /** Whether it is what the box answers; `current` where it could be something else. */
  aimed: boolean;
  current: boolean;
  /** Whether all of a long text is shown at once. */
  whole: boolean;
  settling: boolean;
  give: Give;
  /** Makes it what the box answers; `enter` leads to where that is done, too. */
  take: () => void;
  enter: () => void;
}

/** A question or a report: while it waits with what answers it, and afterwards with its answer. */
export function Asked({ item, draft, connected, aimed, current, whole, settling, give, take, enter }: Props) {
  const t = useT();
  const waiting = isOpen(item);
  const send = () => waiting && connected && isReady(item, draft) && give(item, contentsOf(item, draft));
  const kind = t(item.kind === "report" ? "report" : "question");
  const answers = item.choices.length > 0 || item.kind === "report";
  return (
    <article
      tabIndex={-1}
      aria-label={`${kind}: ${plain(item.text).slice(0, 200)}`}
      className={cn("focus-visible:outline-2", entry)}
      data-item={item.id}
      data-state={item.state}
      data-aimed={aimed || undefined}
      data-enter={(aimed && answers) || undefined}
      onKeyDown={(event) => {
        if (isSend(event)) send();
        else if (event.key === "Enter" && event.target instanceof Element && event.target.closest("[data-option]")) {
          if (event.target.ariaPressed || event.repeat) event.preventDefault(); // else it is a click
          if (event.target.ariaPressed && !event.repeat) send();
        }
      }}
    >
      <Card
        className={cn(
          "max-w-[42rem] min-w-0 rounded-tl-md",
          framed,
          waiting && "border-l-4 border-primary shadow-md",
          current && "outline-2",
        )}
      >
        <header className="flex flex-wrap items-center gap-2 px-4 pt-2.5 text-xs text-muted-foreground">
          <Badge variant={item.kind === "report" ? "default" : "accent"}>{kind}</Badge>
          {waiting && (
            <Badge variant="solid">
              <CircleHelp aria-hidden />
              {t("waitsForYou")}
            </Badge>
          )}
          <Time ms={item.asked} />
          {item.client && <span>{item.client}</span>}
          {waiting && <CountDown item={item} />}
        </header>
        <div className="px-4 pt-1.5 pb-3">
          <Folded text={item.text} whole={whole} />
        </div>
        {waiting && (
          <Answers item={item} draft={draft} connected={connected} aimed={aimed} settling={settling} give={give} take={take}>
            {!aimed && (
              <Button variant="outline" size="sm" onClick={enter}>
                {t("answerThis")}
              </Button>
            )}
          </Answers>
        )}
        {!waiting && <Outcome item={item} whole={whole} />}
      </Card>
    </article>
  );
}

type AnswersProps = Pick<Props, "item" | "draft" | "connected" | "aimed" | "settling" | "give" | "take"> & {
  children: ReactNode;
};

/** What answers it with one click, or with a few and a button. Words that are being written go along, with theirs. */
function Answers({ item, draft, connected, aimed, settling, give, take, children }: AnswersProps) {
  const t = useT();
  const words = hasWords(draft);
  const once = takesOne(item);
  const button = !words && aimed && item.choices.length > 0 && (!once || isReady(item, draft));
  const confirm = item.kind === "report" && !words;
  const offers = item.choices.map((choice, index) => {
    const before = item.choices.slice(0, index).flatMap((each) => each.options);
    const chosen = draft.chosen[index] ?? [];
    const change = (labels: string[]) => {
      choose(item.id, index, labels);
      take();
    };
    const say = (label: string) => {
      if (words || !connected) change(toggled(choice, chosen, label));
      else give(item, contentsOf(item, { ...draft, chosen: { [index]: [label] } }), label);
    };
    return (
      <Choice
        key={index}
        choice={choice}
        asked={item.text}
        name={`${item.id}-${index}`}
        chosen={chosen}
        onChoose={change}
        onAnswer={once ? say : undefined}
        first={aimed ? before.length : undefined}
        settling={settling}
      />
    );
  });
  return (
    <>
      {offers.length > 0 && <div className="flex flex-col gap-2.5 border-t px-4 py-3">{offers}</div>}
      {(confirm || button || children) && (
        <div className="flex flex-wrap justify-end gap-2 border-t px-4 py-2">
          {children}
          {confirm && (
            <Button
              data-option={aimed ? 1 : undefined}
              aria-keyshortcuts={aimed ? "1" : undefined}
              aria-disabled={settling || undefined}
              className="aria-disabled:opacity-50 pointer-coarse:h-11"
              disabled={!connected}
              onClick={(event) => isMeant(event, settling) && give(item, inWords("OK"), t("confirm"))}
            >
              {aimed && <Key number={1} />}
              <CheckCheck />
              {t("confirm")}
            </Button>
          )}
          {button && (
            <Button
              className="pointer-coarse:h-11"
              title="Enter"
              disabled={!connected || !isReady(item, draft)}
              onClick={() => give(item, contentsOf(item, draft))}
            >
              <SendHorizontal />
              {t("answerIt")}
            </Button>
          )}
        </div>
      )}
    </>
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

const ENDS = { timeout: "timedOut", cancelled: "cancelledWhy", withdrawn: "withdrawnWhy" } as const;

/** What could be chosen and what was, what was said, and by whom; or why nothing was. */
function Outcome({ item, whole }: { item: Item; whole: boolean }) {
  const { chosen, rest } = readAnswer(item);
  const refused = item.state === "refused";
  const given = item.state === "answered" || item.state === SENDING || refused;
  if (!given && !item.choices.length && !(item.state in ENDS)) return null;
  return (
    <div className={cn("flex flex-col gap-2 rounded-b-xl border-t px-4 py-2.5", given && "bg-muted/60")}>
      {item.choices.map((choice, index) => (
        <Offered key={index} choice={choice} chosen={given && !refused ? (chosen[index] ?? []) : []} />
      ))}
      {given && rest.length > 0 && (
        <div className="self-start rounded-xl bg-accent px-3.5 py-2 text-accent-foreground">
          <Contents contents={rest} whole={whole} />
        </div>
      )}
      <Ending item={item} />
    </div>
  );
}

function Ending({ item: { state, by, ended } }: { item: Item }) {
  const t = useT();
  const refused = state === "refused";
  const key = ENDS[state as keyof typeof ENDS];
  const style = "flex flex-wrap items-center gap-1.5 text-xs text-muted-foreground";
  if (state === SENDING) {
    return (
      <p className={style}>
        <Badge variant="outline">{t("sending")}</Badge>
      </p>
    );
  }
  if (refused || state === "answered") {
    const how = refused ? "refused" : "answered";
    return (
      <p className={style}>
        {refused ? (
          <Ban className="size-3.5" aria-hidden />
        ) : (
          <CheckCheck className="size-3.5 text-positive" aria-hidden />
        )}
        {by ? t(`${how}By`, { name: by }) : t(how)} <Time ms={ended} />
      </p>
    );
  }
  return (
    key && (
      <p className={cn(style, "italic")}>
        <Hourglass className="size-3.5" aria-hidden />
        {t(key)}
      </p>
    )
  );
}
