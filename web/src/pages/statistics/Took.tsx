import { useSpan } from "@/components/common";
import { useT } from "@/lib/i18n";
import type { BotNumbers } from "@/pages/statistics/types";

/** How long each bot took to answer: columns of how many answers came within so many seconds. */
export function Took({ bots, within }: { bots: BotNumbers[]; within: number[] }) {
  const t = useT();
  const span = useSpan();
  const timed = bots.flatMap(({ agent, took }) => (took ? { agent, ...took } : []));
  if (!timed.length) return <p className="text-sm text-muted-foreground">{t("noneAnswered")}</p>;
  const labels = [...within.map((seconds) => `≤ ${span(seconds)}`), t("longer")];
  return (
    <ul className="flex flex-col gap-4">
      {timed.map(({ agent, count, median, most, counts }) => {
        const half = t("tookHalf", { half: span(median), most: span(most) });
        const highest = Math.max(...counts);
        return (
          <li key={agent} className="flex flex-col gap-1">
            <p className="flex flex-wrap items-baseline gap-x-2 text-[13px]">
              <span className="text-sm font-medium">{agent}</span>
              <span className="text-muted-foreground">{half}</span>
            </p>
            <svg
              viewBox={`0 0 ${counts.length * 10} 40`}
              preserveAspectRatio="none"
              className="h-16 w-full"
              role="img"
              aria-label={t("tookChart", { name: agent, n: count, half })}
            >
              <line x2={counts.length * 10} y1="39.8" y2="39.8" stroke="var(--border)" vectorEffect="non-scaling-stroke" />
              {counts.map((each, at) => (
                <rect
                  key={at}
                  x={at * 10 + 1}
                  width="8"
                  y={40 - (each / highest) * 38}
                  height={(each / highest) * 38}
                  fill="var(--primary)"
                >
                  <title>{`${labels[at]}: ${each}`}</title>
                </rect>
              ))}
            </svg>
            <p aria-hidden className="flex text-[11px] text-muted-foreground">
              {labels.map((label, at) => (
                <span key={at} className="flex-1 text-center leading-tight">
                  <span className="block h-[1em] text-foreground tabular-nums">{counts[at] || ""}</span>
                  {label}
                </span>
              ))}
            </p>
          </li>
        );
      })}
    </ul>
  );
}
