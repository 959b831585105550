import { isKey, useT } from "@/lib/i18n";
import type { Budget } from "@/pages/statistics/types";

/** Below this part of them they are nearly used up. */
const FEW = 0.2;

/** How many calls to others the bots may still make. */
export function Calls({ budgets }: { budgets: Budget[] }) {
  const t = useT();
  if (!budgets.length) return <p className="text-sm text-muted-foreground">{t("noCalls")}</p>;
  return (
    <>
      <ul className="flex flex-col gap-3">
        {budgets.map(({ name, used, limit }) => {
          const left = Math.max(0, limit - used);
          const part = limit ? left / limit : 0;
          const key = `budget_${name}`;
          const text = t("callsOf", { left, limit });
          return (
            <li key={name} className="flex flex-col gap-1 text-[13px]">
              <p className="flex flex-wrap justify-between gap-x-3">
                <span className="font-medium">{isKey(key) ? t(key) : name}</span>
                <span className={part ? "text-muted-foreground tabular-nums" : "text-destructive tabular-nums"}>{text}</span>
              </p>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" className="h-2.5 w-full rounded-full" role="img" aria-label={text}>
                <rect width="100" height="10" fill="var(--muted)" />
                <rect width={part * 100} height="10" fill={part > FEW ? "var(--primary)" : "var(--warning)"} />
              </svg>
            </li>
          );
        })}
      </ul>
      <p className="text-xs text-muted-foreground">{t("callsHint")}</p>
    </>
  );
}
