import { ArrowRight } from "lucide-react";
import { useEffect, useState } from "react";
import { Avatar, Time } from "@/components/common";
import { Log } from "@/components/Log";
import { Back, Bar } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { type Draft, hasWords, unaskedTo, useDrafts } from "@/lib/assistant/drafts";
import { type Item, SENDING, type Talk, isOpen, talkKey, waitingOf } from "@/lib/assistant/items";
import { hasOlder } from "@/lib/assistant/state";
import { assistant, useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { useKeys } from "@/lib/keys";
import { href } from "@/lib/router";
import { cn } from "@/lib/utils";
import { Asked, entry, framed } from "@/pages/questions/Asked";
import { Box, type Purpose } from "@/pages/questions/Box";
import { Contents } from "@/pages/questions/Contents";
import { enterBox } from "@/pages/questions/enterBox";
import { Folded } from "@/pages/questions/Folded";
import { contentsOf, isChosen } from "@/pages/questions/reply";
import type { Give } from "@/pages/questions/useLeading";

interface Props {
  talk: Talk;
  /** The id of what somebody came for. */
  wanted: string | undefined;
  give: Give;
  /** The id of what takes no click yet. */
  settling: string;
}

type What = "answer" | "unasked";

export function Talking({ talk, wanted, give, settling }: Props) {
  const t = useT();
  const state = useAssistant();
  const drafts = useDrafts();
  const [picked, setPicked] = useState<{ what: What; of: string | undefined }>();
  const pick = (what: What) => {
    setPicked({ what, of: wanted });
    enterBox();
  };
  const turnTo = (item: Item, then = () => {}) => {
    setPicked(undefined);
    const place = href("questions", talk.key, item.id);
    if (location.hash === place) return then();
    addEventListener("hashchange", then, { once: true });
    location.replace(place);
  };
  const model = talk.items.findLast((item) => item.model)?.model;
  const purpose = purposeOf(talk, picked?.of === wanted ? picked?.what : undefined, wanted, drafts);
  const name = purpose.is === "unasked" ? unaskedTo(talk.key) : purpose.item.id;
  const answered = purpose.is === "answer" ? purpose.item.id : "";
  const shown = useShown(talk, wanted, state.known ? answered : undefined);
  useAnswerKeys(purpose.is === "answer" ? purpose.item : undefined, drafts(answered), state.open, give);
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
        <More but={answered} />
        {!state.open && <Badge variant="warning">{t("connecting")}</Badge>}
      </Bar>
      <Log
        label={t("questions")}
        first={talk.items[0]?.id}
        older={hasOlder(talk, state) ? () => assistant.loadOlderOf(talk) : undefined}
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
              whole={item.id === wanted && !isOpen(item)}
              settling={item.id === settling}
              give={give}
              take={() => turnTo(item)}
              enter={() => turnTo(item, enterBox)}
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
        give={give}
      />
    </>
  );
}

/** How many questions wait beside the one at hand, and the way to the next of them. */
function More({ but }: { but: string }) {
  const t = useT();
  const waiting = waitingOf(useAssistant().items);
  const at = waiting.findIndex((item) => item.id === but);
  const others = waiting.filter((_, index) => index !== at);
  const next = waiting[at + 1] ?? others[0];
  return (
    <p role="status">
      {next && others.length > 0 && (
        <Button variant="ghost" size="sm" className="text-primary" asChild>
          <a href={href("questions", talkKey(next), next.id)} title={t("openNext")}>
            {t("moreWait", { n: others.length })}
            <ArrowRight aria-hidden />
          </a>
        </Button>
      )}
    </p>
  );
}

/** 1 to 9 press what has that number, as a click does; Enter sends what is chosen where one option is not the answer. */
function useAnswerKeys(item: Item | undefined, draft: Draft, connected: boolean, give: Give): void {
  const press = (key: string) => {
    const option = document.querySelector<HTMLElement>(`[data-aimed] [data-option="${key}"]`);
    option?.focus();
    if (option?.ariaDisabled !== "true") option?.click(); // it takes no click yet, nor a key
  };
  const send = (event: KeyboardEvent) => {
    if (!event.repeat && item && connected && isChosen(draft)) give(item, contentsOf(item, draft));
  };
  const digits = Array.from("123456789", (key) => [key, (event: KeyboardEvent) => !event.repeat && press(key)] as const);
  useKeys(item ? { ...Object.fromEntries(digits), Enter: send } : {}, { first: true });
}

/**
 * While a question is open, the box answers it: the one that was come for, else the one that waits longest. What is being
 * written in it for something else stays there.
 */
function purposeOf(
  talk: Talk,
  picked: What | undefined,
  wanted: string | undefined,
  drafts: (name: string) => Draft,
): Purpose {
  const open = talk.items.filter(isOpen);
  const chosen = open.find((each) => each.id === wanted);
  const kept = talk.items.findLast((item) => item.kind !== "message" && !isOpen(item) && hasWords(drafts(item.id)));
  if (kept && !chosen) return { is: "kept", item: kept };
  const item = chosen ?? open[0];
  const writing = !picked && !chosen && hasWords(drafts(unaskedTo(talk.key)));
  return !item || picked === "unasked" || writing ? { is: "unasked" } : { is: "answer", item };
}

/**
 * What is brought into sight: what somebody came for, and from then on what the box has come to answer without being told
 * to. Undefined where that is the end, which is in sight anyway. `answered` is undefined until that is known.
 */
function useShown(talk: Talk, wanted: string | undefined, answered: string | undefined): string | undefined {
  const [aim, setAim] = useState<{ at?: string | undefined; of?: string | undefined; shown?: string | undefined }>({});
  if (aim.of !== wanted) setAim({ at: answered, of: wanted, shown: wanted });
  else if (aim.at !== answered) {
    const seen = answered === talk.items.at(-1)?.id;
    const comes = aim.at === undefined && wanted !== undefined;
    setAim({ at: answered, of: wanted, shown: comes ? wanted : seen ? undefined : answered || undefined });
  }
  return aim.shown;
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
