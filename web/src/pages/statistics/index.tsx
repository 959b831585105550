import { ChartColumn, Gauge, MessageSquareReply, Timer } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Loaded } from "@/components/Loaded";
import { Card, CardContent, CardHeader, CardTitle } from "@/components/ui/card";
import { Select } from "@/components/ui/input";
import { useData } from "@/lib/data";
import { useNews } from "@/lib/events";
import { useLanguage, useT } from "@/lib/i18n";
import type { Page } from "@/lib/page";
import { go, href } from "@/lib/router";
import { cn } from "@/lib/utils";
import { type Chat, titleOf } from "@/pages/groups/types";
import { Bots } from "@/pages/statistics/Bots";
import { Calls } from "@/pages/statistics/Calls";
import { Days } from "@/pages/statistics/Days";
import { Took } from "@/pages/statistics/Took";
import { type Statistics, beginnings } from "@/pages/statistics/types";
import * as words from "@/pages/statistics/words";

export const statistics: Page<typeof words> = {
  name: "statistics",
  words,
  title: "statistics",
  about: "about_statistics",
  icon: <ChartColumn />,
  show: (place) => <StatisticsPage place={place} />,
};

const PERIODS = [7, 14, 30, 90];
/** Milliseconds: as often, at most, it is counted again while something happens. */
const OFTEN = 30_000;

/** #/statistics/DAYS/CHAT */
function StatisticsPage({ place }: { place: string[] }) {
  const t = useT();
  const period = PERIODS.find((each) => String(each) === place[0]) ?? 14;
  const chat = place[1];
  const found = useData<Statistics>("/api/statistics", { days: beginnings(period).join(), chat }, () => false);
  useFresh(found.reload);
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label={t("statistics")}>
      <div className="mx-auto flex max-w-6xl flex-col gap-4 p-4 sm:p-6">
        <h1 className="sr-only">{t("statistics")}</h1>
        <Chosen period={period} chat={chat} />
        <Loaded data={found}>
          {({ messages, answers, budgets }) => (
            <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
              <Panel icon={<ChartColumn />} title={t("byDay")} wide>
                <Days messages={messages} />
              </Panel>
              <Panel icon={<MessageSquareReply />} title={t("whatBotsDid")}>
                <Bots bots={answers.bots} leftOut={answers.chats_left_out} />
              </Panel>
              <div className="flex min-w-0 flex-col gap-4">
                <Panel icon={<Timer />} title={t("took")}>
                  <Took bots={answers.bots} within={answers.within} />
                </Panel>
                <Panel icon={<Gauge />} title={t("callsLeft")}>
                  <Calls budgets={budgets} />
                </Panel>
              </div>
            </div>
          )}
        </Loaded>
      </div>
    </div>
  );
}

/** Counting costs more than other questions: news is waited for, and counted together. */
function useFresh(reload: () => void): void {
  const stale = useRef(false);
  useNews((news) => {
    if (news.room === "groups") stale.current = true;
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (stale.current && !document.hidden) reload();
      stale.current &&= document.hidden;
    }, OFTEN);
    return () => clearInterval(timer);
  }, [reload]);
}

/** The days and the group that are counted. */
function Chosen({ period, chat }: { period: number; chat: string | undefined }) {
  const t = useT();
  const language = useLanguage();
  const chats = useData<{ chats: Chat[] }>("/api/groups", {}, (news) => news.room === "groups" && news.what === "members");
  const there = (days: number, key?: string) => ["statistics", String(days), ...(key ? [key] : [])];
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <nav aria-label={t("period")} className="flex gap-0.5">
        {PERIODS.map((days) => (
          <a
            key={days}
            href={href(...there(days, chat))}
            aria-current={days === period ? "page" : undefined}
            className={cn(
              "rounded-md px-2.5 py-1.5 text-[13px] font-medium whitespace-nowrap",
              days === period ? "bg-accent text-accent-foreground" : "text-muted-foreground hover:bg-muted",
            )}
          >
            {t("periodOf", { n: days })}
          </a>
        ))}
      </nav>
      <Select
        aria-label={t("whichGroup")}
        value={chat ?? ""}
        className="max-w-full min-w-36 flex-1 sm:max-w-xs"
        onChange={(event) => go(...there(period, event.target.value))}
      >
        <option value="">{t("allGroups")}</option>
        {chat && !chats.value?.chats.some((each) => each.key === chat) && <option>{chat}</option>}
        {chats.value?.chats.map((each) => (
          <option key={each.key} value={each.key}>
            {titleOf(each, language)}
          </option>
        ))}
      </Select>
    </div>
  );
}

function Panel(props: { icon: ReactNode; title: string; wide?: boolean; children: ReactNode }) {
  return (
    <Card className={cn("min-w-0", props.wide && "lg:col-span-2")}>
      <CardHeader className="[&>svg]:size-4 [&>svg]:text-muted-foreground">
        {props.icon}
        <CardTitle className="flex-1">{props.title}</CardTitle>
      </CardHeader>
      <CardContent className="flex flex-col gap-3">{props.children}</CardContent>
    </Card>
  );
}
