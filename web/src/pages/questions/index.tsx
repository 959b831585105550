import { Bell, BellOff, HandHelping } from "lucide-react";
import { useEffect, useState } from "react";
import { Empty, Loading } from "@/components/common";
import { Find } from "@/components/Find";
import { Nowhere } from "@/components/Nowhere";
import { Bar, Split } from "@/components/Split";
import { Button } from "@/components/ui/button";
import { toast } from "@/components/ui/toast";
import { talksOf } from "@/lib/assistant/items";
import { loadOlder, search, useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { useKeys } from "@/lib/keys";
import { isNotifying, wantNotify } from "@/lib/notify";
import { go, href } from "@/lib/router";
import { TokenField, You } from "@/pages/questions/You";
import { Found, TalkRow } from "@/pages/questions/Talks";
import { Talking } from "@/pages/questions/Talking";

/** #/questions/CONVERSATION */
export function QuestionsPage({ place }: { place: string[] }) {
  const t = useT();
  const state = useAssistant();
  const [query, setQuery] = useState("");
  const [notified, setNotified] = useState(isNotifying);
  useEffect(() => {
    search(query);
    return () => search("");
  }, [query]);
  useKeys({ Escape: () => go("questions") });
  const turn = async (on: boolean) => {
    const outcome = await wantNotify(on);
    setNotified(isNotifying());
    if (outcome !== "off") toast(t(outcome === "all" ? "notifyOn" : "notifySoundOnly"));
  };
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
            <Button
              variant="ghost"
              size="icon"
              aria-pressed={notified}
              aria-label={t("notify")}
              title={t("notify")}
              onClick={() => void turn(!notified)}
            >
              {notified ? <Bell /> : <BellOff />}
            </Button>
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
              <Found items={state.found} query={query} />
            ) : !talks.length && !state.known ? (
              !state.problem && <Loading />
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
          <You />
        </>
      }
    >
      {talk ? (
        <Talking key={talk.key} talk={talk} />
      ) : place[0] && state.known ? (
        <Nowhere to={href("questions")} />
      ) : (
        talks.length > 0 && <Empty icon={<HandHelping />} title={t("chooseTalk")} text={t("questionsHint")} />
      )}
    </Split>
  );
}
