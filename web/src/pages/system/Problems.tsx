import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import { Prose, Time } from "@/components/common";
import { Badge } from "@/components/ui/badge";
import { CardContent } from "@/components/ui/card";
import { isKey, useLanguage, useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { type Told, inChinese } from "@/pages/system/chinese";

export interface Trouble {
  ts: number;
  level: string;
  code: string;
  where: string;
  text: string;
  hint: string;
  times: number;
}

/** How a bot's answers went; the rest is about the newest that failed, without an id in a private chat. */
export interface Bot {
  agent: string;
  ended: number;
  failed: number;
  why: string;
  ts: number;
  chat: string;
  message_id: string;
}

export function Problems({ problems, failing }: { problems: readonly Trouble[]; failing: readonly Bot[] }) {
  const t = useT();
  if (!problems.length && !failing.length) {
    return (
      <CardContent className="flex items-center gap-2 text-sm text-muted-foreground">
        <CircleCheck className="size-4 text-positive" aria-hidden />
        {t("noProblems")}
      </CardContent>
    );
  }
  return (
    <ul className="divide-y">
      {failing.map((each) => (
        <Failing key={each.agent} bot={each} />
      ))}
      {problems.map((each) => (
        <One key={`${each.where} ${each.text}`} trouble={each} />
      ))}
    </ul>
  );
}

function Failing({ bot }: { bot: Bot }) {
  const t = useT();
  return (
    <li className="flex items-start gap-3 px-4 py-3 text-sm">
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-destructive" aria-label={t("error")} />
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">
        <p>{t("answersFail", { agent: bot.agent, failed: bot.failed, n: bot.ended })}</p>
        <p>
          {t("newestFailure")}{" "}
          {bot.message_id ? (
            <a href={href("groups", bot.chat, bot.message_id)} className="text-primary underline underline-offset-2">
              {bot.why || bot.message_id}
            </a>
          ) : (
            t("inPrivate")
          )}
        </p>
        <p className="mt-1 text-[13px]">
          <span className="font-semibold text-primary">{t("whatToDo")}</span> {t("answersFailAdvice", { agent: bot.agent })}
        </p>
        <p className="mt-1 text-xs text-muted-foreground">
          <Time ms={bot.ts} />
        </p>
      </div>
    </li>
  );
}

function One({ trouble }: { trouble: Trouble }) {
  const t = useT();
  const language = useLanguage();
  const told: Told = language === "zh" ? inChinese(trouble.code, trouble.where) : trouble;
  const advice = `advice_${trouble.code}`;
  return (
    <li className="flex items-start gap-3 px-4 py-3 text-sm">
      {trouble.level === "error" ? (
        <CircleAlert className="mt-0.5 size-4 shrink-0 text-destructive" aria-label={t("error")} />
      ) : (
        <TriangleAlert className="mt-0.5 size-4 shrink-0 text-warning" aria-label={t("warning")} />
      )}
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">
        <p>{told.text}</p>
        <p className="mt-1 text-[13px]">
          <span className="font-semibold text-primary">{t("whatToDo")}</span>{" "}
          <Prose text={isKey(advice) ? t(advice) : told.hint || t("adviceNone")} />
        </p>
        {told !== trouble && (
          <details open={told.vague} className="mt-1 text-xs text-muted-foreground">
            <summary className="w-fit cursor-pointer">{t("original")}</summary>
            <div lang="en" className="mt-1 border-l-2 pl-2">
              <p>{trouble.text}</p>
              <p>
                <Prose text={trouble.hint} />
              </p>
            </div>
          </details>
        )}
        <p className="mt-1 flex flex-wrap items-center gap-2 text-xs text-muted-foreground">
          <Time ms={trouble.ts * 1000} />
          <code>{trouble.where}</code>
          {trouble.times > 1 && <Badge>{t("times", { n: trouble.times })}</Badge>}
        </p>
      </div>
    </li>
  );
}
