import { Avatar } from "@/components/common";
import { useLanguage, useT } from "@/lib/i18n";
import { reasonText } from "@/pages/groups/reasons";
import type { BotNumbers, Done, Verdicts } from "@/pages/statistics/types";

const COLOURS: Record<Done, string> = {
  answered: "var(--positive)",
  begun: "var(--warning)",
  failed: "var(--destructive)",
  silent: "color-mix(in oklab, var(--muted-foreground) 55%, var(--surface))",
};
const ORDER = Object.keys(COLOURS) as Done[];
/** Reasons that are shown without being asked for, beside those of failures. */
const FIRST = 6;

/** What each bot did about messages, and for which reasons. */
export function Bots({ bots, leftOut }: { bots: BotNumbers[]; leftOut: number }) {
  const t = useT();
  if (!bots.length) return <p className="text-sm text-muted-foreground">{t("noneDecided")}</p>;
  return (
    <>
      <ul className="flex flex-col gap-5">
        {bots.map((bot) => (
          <li key={bot.agent} className="flex flex-col gap-2">
            <BotRow bot={bot} />
          </li>
        ))}
      </ul>
      <p className="text-xs text-muted-foreground">
        {t("logsOnly")} {leftOut > 0 && t("chatsLeftOut", { n: leftOut })}
      </p>
    </>
  );
}

function BotRow({ bot: { agent, verdicts } }: { bot: BotNumbers }) {
  const t = useT();
  const counted = ORDER.map((done) => ({ done, count: countOf(verdicts, done) })).filter(({ count }) => count);
  const all = counted.reduce((sum, { count }) => sum + count, 0);
  const most = Math.max(...verdicts.map(({ count }) => count));
  const isShown = ({ done }: Verdicts, at: number) => at < FIRST || done === "failed";
  const more = verdicts.filter((each, at) => !isShown(each, at));
  const text = counted.map(({ done, count }) => `${t(`done_${done}`)} ${count}`).join(" · ");
  let from = 0;
  return (
    <>
      <p className="flex items-center gap-2 text-sm">
        <Avatar name={agent} bot small />
        <span className="min-w-0 truncate font-medium">{agent}</span>
      </p>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" className="h-3.5 w-full rounded-sm" role="img" aria-label={`${agent}: ${text}`}>
        {counted.map(({ done, count }) => {
          const width = (count / all) * 100;
          from += width;
          return <rect key={done} x={from - width} width={width} height="10" fill={COLOURS[done]} />;
        })}
      </svg>
      <ul aria-hidden className="flex flex-wrap gap-x-4 gap-y-1 text-[13px]">
        {counted.map(({ done, count }) => (
          <li key={done} className="flex items-center gap-1.5">
            <span className="size-2.5 rounded-sm" style={{ background: COLOURS[done] }} />
            {t(`done_${done}`)} <span className="tabular-nums">{count}</span>
          </li>
        ))}
      </ul>
      <Reasons verdicts={verdicts.filter(isShown)} most={most} />
      {more.length > 0 && (
        <details>
          <summary className="w-fit text-[13px] text-muted-foreground">
            {t("moreReasons", { n: more.length })}
          </summary>
          <Reasons verdicts={more} most={most} />
        </details>
      )}
    </>
  );
}

function Reasons({ verdicts, most }: { verdicts: Verdicts[]; most: number }) {
  const t = useT();
  const language = useLanguage();
  return (
    <ul className="flex flex-col gap-1 pt-1 text-[13px]">
      {verdicts.map((each) => (
        <li key={`${each.done} ${each.reason} ${each.why}`} className="flex items-center gap-2">
          <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
            <span className="sr-only">{t(`done_${each.done}`)}: </span>
            {each.done !== "failed" ? reasonText(each, language) : each.why || t("otherFailures")}
          </span>
          <svg viewBox="0 0 100 10" preserveAspectRatio="none" className="h-2 w-20 shrink-0 sm:w-28" aria-hidden>
            <rect width={Math.max(2, (each.count / most) * 100)} height="10" fill={COLOURS[each.done]} />
          </svg>
          <span className="w-10 shrink-0 text-right text-muted-foreground tabular-nums">
            {each.count.toLocaleString(language)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function countOf(verdicts: Verdicts[], done: Done): number {
  return verdicts.reduce((sum, each) => sum + (each.done === done ? each.count : 0), 0);
}
