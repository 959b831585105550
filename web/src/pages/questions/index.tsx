import { Bell, BellOff, HandHelping } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { Empty } from "@/components/common";
import { Find } from "@/components/Find";
import { Bar, Split } from "@/components/Split";
import { Button } from "@/components/ui/button";
import { Input, Label } from "@/components/ui/input";
import { loadOlder, nickname, search, setNickname, talksOf, useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { useKeys } from "@/lib/keys";
import { canNotify, mayNotify, wantNotify } from "@/lib/notify";
import { go } from "@/lib/router";
import { Found, TalkRow } from "@/pages/questions/Talks";
import { Talking } from "@/pages/questions/Talking";

/** #/questions/CONVERSATION */
export function QuestionsPage({ place }: { place: string[] }) {
  const t = useT();
  const state = useAssistant();
  const [query, setQuery] = useState("");
  const [notified, setNotified] = useState(mayNotify);
  useEffect(() => {
    search(query);
    return () => search("");
  }, [query]);
  useKeys({ Escape: () => go("questions") });
  const talks = talksOf(state.items);
  const talk = talks.find((each) => each.key === place[0]);

  return (
    <Split
      label={t("questions")}
      open={place[0] !== undefined}
      list={
        <>
          <Bar>
            <h1 className="sr-only">{t("questions")}</h1>
            <Find label={t("searchQuestions")} onFind={setQuery} />
            {canNotify() && (
              <Button
                variant="ghost"
                size="icon"
                aria-pressed={notified}
                aria-label={t("notify")}
                title={t("notify")}
                onClick={() => void wantNotify(!notified).then(setNotified)}
              >
                {notified ? <Bell /> : <BellOff />}
              </Button>
            )}
          </Bar>
          {(state.refused || state.problem) && (
            <p role="alert" className="border-b px-4 py-2 text-sm text-destructive">
              {state.refused || state.problem}
            </p>
          )}
          <div className="min-h-0 flex-1 overflow-y-auto">
            {query ? (
              <Found items={state.found} query={query} />
            ) : !talks.length ? (
              <Empty icon={<HandHelping />} title={t("noQuestions")} text={t("noQuestionsHint")} />
            ) : (
              <ul>
                {talks.map((each) => (
                  <li key={each.key}>
                    <TalkRow talk={each} current={each.key === talk?.key} />
                  </li>
                ))}
              </ul>
            )}
            {!query && state.older > 0n && (
              <div className="p-3 text-center">
                <Button variant="outline" size="sm" onClick={loadOlder}>
                  {t("loadOlderTalks")}
                </Button>
              </div>
            )}
          </div>
          <YourName />
        </>
      }
    >
      {talk ? (
        <Talking key={talk.key} talk={talk} open={state.open} />
      ) : (
        talks.length > 0 && <Empty icon={<HandHelping />} title={t("chooseTalk")} text={t("questionsHint")} />
      )}
    </Split>
  );
}

function YourName() {
  const t = useT();
  const id = useId();
  const [name, setName] = useState(nickname);
  return (
    <div className="flex shrink-0 items-center gap-2 border-t px-4 py-2">
      <Label htmlFor={id} className="shrink-0">
        {t("yourName")}
      </Label>
      <Input
        id={id}
        value={name}
        maxLength={60}
        placeholder={t("yourNameHint")}
        className="h-8"
        onChange={(event) => setName(event.target.value)}
        onBlur={() => setNickname(name)}
        onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      />
    </div>
  );
}
