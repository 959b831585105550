import { Bot } from "lucide-react";
import { useState } from "react";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { hues } from "@/lib/utils";
import type { Messages } from "@/pages/statistics/types";

const WIDTH = 10;
const HEIGHT = 100;
/** Who is drawn apart; the rest is one piece. */
const APART = 8;
const REST = "color-mix(in oklab, var(--muted-foreground) 55%, var(--surface))";

interface Piece {
  name: string;
  bot: boolean;
  colour: string;
  /** How many messages on each day. */
  counts: number[];
}

/** Columns of how much was said on each day, piled up from what each member said. */
export function Days({ messages }: { messages: Messages }) {
  const t = useT();
  const language = useLanguage();
  const [looked, setLooked] = useState<number>();
  const { days } = messages;
  const pieces = usePieces(messages);
  const total = days.reduce((sum, day) => sum + day.messages, 0);
  const most = Math.max(...days.map((day) => day.messages));
  const top = rounded(most);
  const format = new Intl.DateTimeFormat(language, { month: "short", day: "numeric", weekday: "short" });
  const [first, last] = [days[0], days.at(-1)];
  if (!total || !first || !last) return <p className="text-sm text-muted-foreground">{t("nothingSaid")}</p>;
  const shown = looked === undefined ? undefined : days[looked];
  const summary = { from: format.format(first.begins), to: format.format(last.begins), n: total, most };
  return (
    <>
      <div className="flex gap-2 text-[11px] text-muted-foreground tabular-nums">
        <p aria-hidden className="flex flex-col items-end justify-between">
          <span>{top.toLocaleString(language)}</span>
          <span>0</span>
        </p>
        <svg
          viewBox={`0 0 ${days.length * WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          className="h-40 min-w-0 flex-1"
          role="img"
          aria-label={t("byDayChart", summary)}
          onPointerLeave={() => setLooked(undefined)}
        >
          {[0, 0.5, 1].map((part) => (
            <line
              key={part}
              x2={days.length * WIDTH}
              y1={HEIGHT * part}
              y2={HEIGHT * part}
              stroke="var(--border)"
              vectorEffect="non-scaling-stroke"
            />
          ))}
          {days.map((day, at) => {
            let below = 0;
            return (
              <g key={day.begins} onPointerEnter={() => setLooked(at)} opacity={looked === undefined || looked === at ? 1 : 0.5}>
                <rect x={at * WIDTH} width={WIDTH} height={HEIGHT} fill="transparent" />
                {pieces.map(({ colour, counts }, piece) => {
                  const height = ((counts[at] ?? 0) / top) * HEIGHT;
                  below += height;
                  return height ? (
                    <rect key={piece} x={at * WIDTH + 1} width={WIDTH - 2} y={HEIGHT - below} height={height} fill={colour} />
                  ) : null;
                })}
              </g>
            );
          })}
        </svg>
      </div>
      <p aria-hidden className="-mt-1.5 flex justify-between pl-6 text-[11px] text-muted-foreground">
        <span>{summary.from}</span>
        <span>{summary.to}</span>
      </p>
      <p className="min-h-10 text-[13px] sm:min-h-5">
        <span className="font-medium">{shown ? format.format(shown.begins) : `${summary.from} – ${summary.to}`}</span>
        {" · "}
        {t("inAll", { n: shown ? shown.messages : total })}
        {shown && looked !== undefined && (
          <span className="text-muted-foreground"> · {listed(saidOn(looked, pieces), language)}</span>
        )}
      </p>
      <ul className="grid grid-cols-2 gap-x-4 gap-y-1 text-[13px] sm:grid-cols-3 lg:grid-cols-5">
        {pieces.map(({ name, bot, colour, counts }, index) => (
          <li key={index} className="flex min-w-0 items-center gap-1.5">
            <span aria-hidden className="size-2.5 shrink-0 rounded-sm" style={{ background: colour }} />
            <span className="truncate">{name}</span>
            {bot && <Bot className="size-3.5 shrink-0 text-muted-foreground" aria-label={t("bot")} />}
            <span className="ml-auto text-muted-foreground tabular-nums">{sum(counts).toLocaleString(language)}</span>
          </li>
        ))}
      </ul>
      {messages.whole_since !== null && (
        <p className="text-xs text-warning">
          {t("onlyNewest", { n: messages.read, when: new Date(messages.whole_since).toLocaleString(language) })}
        </p>
      )}
      <Numbers messages={messages} pieces={pieces} />
    </>
  );
}

/** The same as a table. */
function Numbers({ messages, pieces }: { messages: Messages; pieces: Piece[] }) {
  const t = useT();
  const language = useLanguage();
  const cell = "px-2 py-1 text-right tabular-nums";
  return (
    <details className="text-[13px]">
      <summary className="w-fit text-muted-foreground">{t("asTable")}</summary>
      <div className="mt-2 max-h-80 overflow-auto" tabIndex={0} role="region" aria-label={t("byDay")}>
        <table className="w-full border-collapse whitespace-nowrap">
          <thead>
            <tr className="border-b">
              <th className="py-1 pr-2 text-left font-medium">{t("day")}</th>
              <th className={cell}>{t("sum")}</th>
              {pieces.map(({ name }, index) => (
                <th key={index} className={`${cell} font-medium`}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {messages.days
              .map((day, at) => (
                <tr key={day.begins} className="border-b border-border/60">
                  <th scope="row" className="py-1 pr-2 text-left font-normal">
                    {new Date(day.begins).toLocaleDateString(language)}
                  </th>
                  <td className={cell}>{day.messages}</td>
                  {pieces.map(({ counts }, index) => (
                    <td key={index} className={cell}>
                      {counts[at] || ""}
                    </td>
                  ))}
                </tr>
              ))
              .reverse()}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** What each column is piled up from: of the members who said most, and of all others together. */
function usePieces({ members, others, days }: Messages): Piece[] {
  const t = useT();
  const apart = members.slice(0, APART);
  const colours = hues(apart.map((each) => each.name));
  const pieces = apart.map(({ name, bot }, index) => ({
    name,
    bot,
    colour: `oklch(0.64 0.14 ${colours[index]})`,
    counts: days.map((day) => day.by[index] ?? 0),
  }));
  const rest = days.map((day) => day.messages - sum(day.by.slice(0, APART)));
  if (!sum(rest)) return pieces;
  const name = t("othersCount", { n: others + members.length - apart.length });
  return [...pieces, { name, bot: false, colour: REST, counts: rest }];
}

function saidOn(at: number, pieces: Piece[]): string[] {
  return pieces.flatMap(({ name, counts }) => (counts[at] ? `${name} ${counts[at]}` : []));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

/** The next number above that people would count to. */
function rounded(most: number): number {
  const step = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((times) => times * step).find((each) => each >= most) ?? most;
}
