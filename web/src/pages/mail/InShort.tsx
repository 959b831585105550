import { type Key, listed, useLanguage, useT } from "@/lib/i18n";
import { cn, plain } from "@/lib/utils";
import type { Point, Summary } from "@/pages/mail/types";

export function InShort({ summary }: { summary: Summary }) {
  const t = useT();
  const language = useLanguage();
  const lists: [Key, Point[]][] = [
    ["decisions", summary.decisions],
    ["openQuestions", summary.open_questions],
    ["actionItems", summary.action_items],
    ["keyPoints", summary.key_points],
  ];
  const shown = lists.filter(([, points]) => points.length);
  return (
    <details open className="rounded-xl border bg-accent/40 px-4 py-3 text-[13px]">
      <summary className="font-semibold">
        {t("inShort", { n: summary.messages, who: listed(summary.participants.map((each) => each.name), language) })}
      </summary>
      <div className="mt-2 grid gap-x-6 gap-y-3 sm:grid-cols-2">
        {shown.map(([title, points]) => (
          <section key={title}>
            <h3 className="mb-1 text-xs font-semibold text-muted-foreground">{t(title)}</h3>
            <ul className="flex flex-col gap-1">
              {points.slice(0, 6).map((point, index) => (
                <li key={`${index} ${point.message_id}`} className={cn("flex gap-1.5", point.done && "line-through opacity-70")}>
                  <span aria-hidden>{point.done === undefined ? "•" : point.done ? "☑" : "☐"}</span>
                  <span className="min-w-0 [overflow-wrap:anywhere]">
                    {plain(point.text)} <span className="text-muted-foreground">— {point.owner ?? point.from}</span>
                  </span>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </details>
  );
}
