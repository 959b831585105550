import { Bell, BellOff, HandHelping, SquarePen } from "lucide-react";
import { type ReactNode, useEffect, useId, useState } from "react";
import { Empty, Loading } from "@/components/common";
import { Command } from "@/components/Command";
import { Find } from "@/components/Find";
import { Nowhere } from "@/components/Nowhere";
import { Bar, Split } from "@/components/Split";
import { Button } from "@/components/ui/button";
import { type Talk, emptyTalk, talkKey, talksOf, waitingOf } from "@/lib/assistant/items";
import { projectNames } from "@/lib/assistant/projects";
import { assistant, useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { useKeys } from "@/lib/keys";
import { useNotifying } from "@/lib/notify";
import type { Page } from "@/lib/page";
import { go, href } from "@/lib/router";
import { token, tokenEnding } from "@/lib/token";
import { TokenField, You } from "@/pages/questions/You";
import { Found } from "@/pages/questions/Found";
import { line } from "@/pages/questions/line";
import { Offer, useTurning } from "@/pages/questions/Offer";
import { COMMAND, start } from "@/pages/questions/start";
import { TalkRow, WaitingRow } from "@/pages/questions/Talks";
import { Talking } from "@/pages/questions/Talking";
import { useLeading } from "@/pages/questions/useLeading";
import { useWanted } from "@/pages/questions/useWanted";
import * as words from "@/pages/questions/words";
import { WriteTo } from "@/pages/questions/WriteTo";

export const questions: Page<typeof words> = {
  name: "questions",
  words,
  title: "questions",
  about: "about_questions",
  icon: <HandHelping />,
  show: (place) => <QuestionsPage place={place} />,
  start,
  keys: [
    ["1 – 9", "keyOption"],
    ["u", "keyUndo"],
  ],
  line,
};

/** #/questions/CONVERSATION/ITEM */
function QuestionsPage({ place }: { place: string[] }) {
  const t = useT();
  const state = useAssistant();
  const [query, setQuery] = useState("");
  useEffect(() => {
    assistant.search(query);
    return () => assistant.search("");
  }, [query]);
  const [writing, setWriting] = useState(false);
  const begin = () => setWriting(!state.refused);
  const { give, settling, undo } = useLeading(place, query !== "" || writing);
  useKeys({ Escape: () => go("questions"), c: begin, u: undo });
  const talks = talksOf(state.items);
  const named = emptyTalk(place[0]);
  const talk = talks.find((each) => each.key === named?.key);
  const names = projectNames([...talks, ...(state.found ?? [])].map((each) => each.project));
  const searched = useWanted(place[0], talk, place[1]);
  const isSought = !talk && searched;
  // Where nothing was said yet, a person may begin; an address of something that was said leads nowhere then.
  const shown = talk ?? (state.known && !isSought && place[1] === undefined ? named : undefined);

  return (
    <>
      <Offer />
      <Split
        label={t("questions")}
        open={place[0] !== undefined}
        list={
          <>
            <Bar>
              <h1 className="sr-only">{t("questions")}</h1>
              <Find label={t("searchQuestions")} onFind={setQuery} />
              {!state.refused && (
                <Button variant="ghost" size="icon" aria-label={t("writeToAnother")} title={t("writeToAnother")} onClick={begin}>
                  <SquarePen />
                </Button>
              )}
              <NotifyButton />
            </Bar>
            {state.problem && !state.refused && (
              <p role="alert" className="border-b px-4 py-2 text-sm text-destructive">
                {state.problem}
              </p>
            )}
            <div className="min-h-0 flex-1 overflow-y-auto">
              {state.refused ? (
                <TokenField refused={state.refused} />
              ) : query ? (
                <Found items={state.found} query={query} names={names} current={place[1]} />
              ) : !talks.length && !state.known ? (
                !state.problem && <Loading />
              ) : !talks.length ? (
                <Empty icon={<HandHelping />} title={t("noQuestions")} text={t("noQuestionsHint")}>
                  <Command text={COMMAND} />
                  {token() && <p className="max-w-sm text-sm">{t("onlyOfToken", { end: tokenEnding() })}</p>}
                </Empty>
              ) : (
                <Rows talks={talks} names={names} current={talk} wanted={place[1]} />
              )}
              {!query && state.older > 0n && (
                <div className="p-3 text-center">
                  <Button variant="outline" size="sm" onClick={() => assistant.loadOlder()}>
                    {t("loadOlderTalks")}
                  </Button>
                </div>
              )}
            </div>
            <You />
          </>
        }
      >
        {shown ? (
          <Talking key={shown.key} talk={shown} wanted={place[1]} give={give} settling={settling} />
        ) : isSought ? (
          <Loading />
        ) : place[0] && state.known ? (
          <Nowhere to={href("questions")} />
        ) : (
          talks.length > 0 && <Empty icon={<HandHelping />} title={t("chooseTalk")} text={t("questionsHint")} />
        )}
      </Split>
      <WriteTo talks={talks} open={writing} onClose={() => setWriting(false)} />
    </>
  );
}

interface RowsProps {
  talks: readonly Talk[];
  names: ReadonlyMap<string, string>;
  /** The conversation that is open, and the id of what somebody came for. */
  current: Talk | undefined;
  wanted: string | undefined;
}

/** What waits, the longest on top, and below it the conversations in which nothing does. */
function Rows({ talks, names, current, wanted }: RowsProps) {
  const t = useT();
  const waiting = waitingOf(new Map(talks.flatMap((talk) => talk.items.map((item) => [item.id, item]))));
  const here = waiting.filter((item) => talkKey(item) === current?.key);
  const at = here.find((item) => item.id === wanted) ?? here[0];
  const rest = talks.filter((talk) => !talk.waiting);
  const others = rest.map((each) => (
    <li key={each.key}>
      <TalkRow talk={each} names={names} current={each.key === current?.key} />
    </li>
  ));
  if (!waiting.length) return <ul>{others}</ul>;
  return (
    <>
      <Part title={t("waitForYou", { n: waiting.length })}>
        {waiting.map((item) => (
          <li key={item.id} className="border-l-4 border-primary">
            <WaitingRow item={item} names={names} current={item === at} />
          </li>
        ))}
      </Part>
      {rest.length > 0 && <Part title={t("otherTalks")}>{others}</Part>}
    </>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  const id = useId();
  return (
    <>
      <h2 id={id} className="px-4 pt-3 pb-1.5 text-xs font-semibold text-muted-foreground">
        {title}
      </h2>
      <ul aria-labelledby={id}>{children}</ul>
    </>
  );
}

function NotifyButton() {
  const t = useT();
  const { on, silent } = useNotifying();
  const label = t(on && silent ? "notifySilent" : "notify");
  const turn = useTurning();
  return (
    <Button variant="ghost" size="icon" aria-pressed={on} aria-label={label} title={label} onClick={() => turn(!on)}>
      {on ? <Bell className={silent ? "text-warning" : undefined} /> : <BellOff />}
    </Button>
  );
}
