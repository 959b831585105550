import { useMemo } from "react";
import { Avatar, Problem, Time } from "@/components/common";
import { Badge } from "@/components/ui/badge";
import { useData } from "@/lib/data";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { hue } from "@/lib/utils";
import type { Activity, Member } from "@/pages/groups/types";

const COLUMNS = 36;
const LATEST = 60;

export function Side({ chat, members }: { chat: string; members: Member[] }) {
  const t = useT();
  const language = useLanguage();
  const activity = useData<Activity>(
    "/api/groups/activity",
    { chat },
    (news) => news.room === "groups" && news.what === "messages" && news.chat === chat,
  );
  const said = new Map(activity.value?.points.map(([ts, speaker]) => [activity.value?.speakers[speaker]?.sender, ts]));
  // Who was seen is kept to the hour: what somebody said since then is newer.
  const lastOf = (member: Member) => Math.max(member.last, said.get(member.sender) ?? 0);
  return (
    <div className="flex flex-col gap-5 overflow-y-auto p-4">
      {activity.error && <Problem error={activity.error} retry={activity.reload} />}
      {activity.value && <WhoWhen activity={activity.value} />}
      {activity.value && <Hops activity={activity.value} />}
      <section>
        <h3 className="mb-2 text-sm font-semibold">
          {t("members")} <span className="font-normal text-muted-foreground">{members.length}</span>
        </h3>
        <ul className="flex flex-col gap-2.5">
          {members.map((member) => (
            <li key={member.sender} className="flex items-start gap-2.5">
              <Avatar name={member.name} bot={member.bot} small />
              <div className="min-w-0 flex-1 text-[13px]">
                <p className="flex items-center gap-1.5">
                  <span className="truncate font-medium">{member.name}</span>
                  {member.bot && <Badge variant="accent">{t("bot")}</Badge>}
                  {lastOf(member) > 0 && (
                    <Time ms={lastOf(member)} label={t("lastSeen")} className="ml-auto shrink-0 text-xs text-muted-foreground" />
                  )}
                </p>
                {member.description && <p className="text-xs text-muted-foreground">{member.description}</p>}
                {member.aliases && member.aliases.length > 0 && (
                  <p className="text-xs text-muted-foreground">{listed(member.aliases, language)}</p>
                )}
              </div>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

/** Bars of how many messages each wrote, over the time in which the latest ones were written. */
function WhoWhen({ activity }: { activity: Activity }) {
  const t = useT();
  const language = useLanguage();
  const chart = useMemo(() => columns(activity), [activity]);
  if (!chart) return null;
  const format = new Intl.DateTimeFormat(language, { month: "numeric", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });
  return (
    <section>
      <h3 className="mb-2 text-sm font-semibold">{t("whoWhen")}</h3>
      <div className="flex flex-col gap-1.5">
        {chart.rows.map((row) => (
          <div key={row.sender} className="flex items-center gap-2 text-xs">
            <span className="w-16 shrink-0 truncate" title={row.name}>
              {row.name}
            </span>
            <svg
              viewBox={`0 0 ${COLUMNS * 4} 20`}
              preserveAspectRatio="none"
              className="h-5 min-w-0 flex-1"
              role="img"
              aria-label={t("wrote", { name: row.name, n: row.total })}
            >
              <line x1="0" x2={COLUMNS * 4} y1="19.5" y2="19.5" stroke="var(--border)" />
              {row.counts.map((count, index) =>
                count ? (
                  <rect
                    key={index}
                    x={index * 4}
                    width="3"
                    y={19 - Math.max(3, (count / chart.most) * 19)}
                    height={Math.max(3, (count / chart.most) * 19)}
                    rx="1"
                    fill={`oklch(0.6 0.13 ${hue(row.name)})`}
                  >
                    <title>{`${format.format(chart.from + index * chart.step)}: ${count}`}</title>
                  </rect>
                ) : null,
              )}
            </svg>
            <span className="w-7 shrink-0 text-right text-muted-foreground tabular-nums">{row.total}</span>
          </div>
        ))}
        <p className="flex justify-between pr-9 pl-18 text-[11px] text-muted-foreground">
          <span>{format.format(chart.from)}</span>
          <span>{format.format(chart.to)}</span>
        </p>
      </div>
    </section>
  );
}

/** How many turns bots had in a row since a person spoke, message by message; what nobody said is left out. */
function Hops({ activity }: { activity: Activity }) {
  const t = useT();
  const hops = activity.points.flatMap(([, speaker, hop]) =>
    hop === null ? [] : [{ hop, name: activity.speakers[speaker]?.name ?? "" }],
  );
  const shown = hops.slice(-LATEST);
  const most = Math.max(3, ...shown.map((each) => each.hop));
  const highest = Math.max(0, ...shown.map((each) => each.hop));
  return (
    <section>
      <h3 className="text-sm font-semibold">{t("hops")}</h3>
      <p className="mb-2 text-xs text-muted-foreground">{t("hopsText", { n: shown.length, most: highest })}</p>
      <svg
        viewBox={`0 0 ${LATEST * 4} 40`}
        preserveAspectRatio="none"
        className="h-12 w-full"
        role="img"
        aria-label={t("hopsText", { n: shown.length, most: highest })}
      >
        <line x1="0" x2={LATEST * 4} y1="39.5" y2="39.5" stroke="var(--border)" />
        {shown.map((each, index) => (
          <rect
            key={index}
            x={(LATEST - shown.length + index) * 4}
            width="3"
            y={39 - (each.hop ? (each.hop / most) * 38 : 1.5)}
            height={each.hop ? (each.hop / most) * 38 : 1.5}
            rx="0.8"
            fill={each.hop > 3 ? "var(--destructive)" : each.hop ? "var(--primary)" : "var(--muted-foreground)"}
          >
            <title>{`${each.name}: ${each.hop}`}</title>
          </rect>
        ))}
      </svg>
    </section>
  );
}

function columns(activity: Activity) {
  const points = activity.points.slice(-200);
  const from = points[0]?.[0];
  const to = points.at(-1)?.[0];
  if (from === undefined || to === undefined) return null;
  const step = Math.max(1, (to - from) / COLUMNS);
  const rows = activity.speakers.map((speaker) => ({ ...speaker, total: 0, counts: Array<number>(COLUMNS).fill(0) }));
  for (const [ts, speaker] of points) {
    const row = rows[speaker];
    const at = Math.min(COLUMNS - 1, Math.max(0, Math.floor((ts - from) / step)));
    if (row) {
      row.total += 1;
      row.counts[at] = (row.counts[at] ?? 0) + 1;
    }
  }
  const shown = rows.filter((row) => row.total).sort((one, other) => other.total - one.total).slice(0, 8);
  return { rows: shown, most: Math.max(1, ...shown.flatMap((row) => row.counts)), from, to, step };
}
