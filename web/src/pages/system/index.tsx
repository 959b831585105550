import { Activity, CircleAlert, Database, Eye, MessageSquareWarning, Puzzle, ServerCog } from "lucide-react";
import type { ReactNode } from "react";
import { Loading, Problem, useNow, useSpan } from "@/components/common";
import { Badge } from "@/components/ui/badge";
import { Card, CardContent, CardHeader, CardTitle } from "@/components/ui/card";
import { useData } from "@/lib/data";
import { useConnection } from "@/lib/events";
import { type Key, isKey, useT } from "@/lib/i18n";
import type { Page } from "@/lib/page";
import { cn } from "@/lib/utils";
import { type Bot, Problems, type Trouble } from "@/pages/system/Problems";
import * as words from "@/pages/system/words";

export const system: Page<typeof words> = {
  name: "system",
  words,
  title: "system",
  about: "about_system",
  icon: <ServerCog />,
  show: () => <SystemPage />,
};

interface System {
  version: string;
  versions: Record<string, string>;
  began: number;
  now: number;
  token: boolean;
  servers: { name: string; tools: number; offered: boolean }[];
  viewers: { name: string; since: number; program: string }[];
  /** `way`: how those of the questions came, whose tokens have no name here. */
  clients: { name: string; way: "" | "connect" | "ws"; program: string; requests: number; last: number }[];
  stores: { name: string; path: string; bytes: number; count: number | null }[];
  problems: Trouble[];
  /** By bot, of the last 24 hours. */
  answers: (Bot & {
    /** How often people said that it was not meant, and how often they had to ask it again. */
    intruded: number;
    missed: number;
    intruded_per_100: number;
    missed_per_100: number;
  })[];
  /** Whether it can be told here that answers fail. */
  answers_known: boolean;
}

function SystemPage() {
  const t = useT();
  const span = useSpan();
  const now = useNow(5000);
  const connection = useConnection();
  const system = useData<System>("/api/system", {}, () => true);
  const value = system.value;
  if (system.error && !value) return <Problem error={system.error} retry={system.reload} />;
  if (!value) return <Loading />;
  const errors = value.problems.filter((each) => each.level === "error").length;
  const failing = value.answers.filter((each) => each.failed > 0);
  const failed = failing.reduce((sum, each) => sum + each.failed, 0);
  const wrong = errors > 0 || failing.length > 0;
  const count = value.problems.length + failing.length;
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label={t("system")}>
      <div className="mx-auto grid max-w-6xl grid-cols-1 items-start gap-4 p-4 sm:p-6 lg:grid-cols-2">
        <h1 className="sr-only">{t("system")}</h1>
        <section className="grid grid-cols-2 gap-3 lg:col-span-2 lg:grid-cols-4">
          <Figure
            title={t("health")}
            value={t(connection === "offline" ? "offline" : wrong ? "withProblems" : value.answers_known ? "well" : "nothingKnown")}
            tone={connection === "offline" ? "bad" : wrong ? "warn" : value.answers_known ? "good" : undefined}
            text={value.answers_known ? undefined : t("answersUnknown")}
          />
          <Figure title={t("uptime")} value={span(now / 1000 - value.began)} text={`nanobot-transcript ${value.version}`} />
          <Figure title={t("openPages")} value={String(value.viewers.length)} />
          <Figure title={t("stored")} value={bytes(value.stores.reduce((sum, each) => sum + each.bytes, 0))} />
        </section>

        <Card className="lg:col-span-2">
          <Title icon={<CircleAlert />} text={t("problems")}>
            <Badge variant={wrong ? "destructive" : count ? "warning" : "positive"}>{count}</Badge>
          </Title>
          <Problems problems={value.problems} failing={failing} />
        </Card>

        {value.answers.length > 0 && (
          <Card className="lg:col-span-2">
            <Title icon={<MessageSquareWarning />} text={t("failedAnswers")}>
              <Badge variant={failed ? "destructive" : "positive"}>{failed}</Badge>
            </Title>
            <ul className="divide-y">
              {value.answers.map((each) => (
                <li key={each.agent} className="px-4 py-2.5 text-sm">
                  <p className="flex gap-2">
                    <span className="min-w-0 flex-1 truncate font-medium">{each.agent}</span>
                    <span className={each.failed ? "text-destructive" : "text-muted-foreground"}>
                      {t("failedOf", { failed: each.failed, n: each.ended })}
                    </span>
                  </p>
                  {each.intruded + each.missed > 0 && (
                    <p className="text-muted-foreground">
                      {t("corrected", {
                        intruded: each.intruded,
                        intrudedRate: each.intruded_per_100.toFixed(1),
                        missed: each.missed,
                        missedRate: each.missed_per_100.toFixed(1),
                      })}
                    </p>
                  )}
                </li>
              ))}
            </ul>
          </Card>
        )}

        <Card>
          <Title icon={<Database />} text={t("stores")} />
          <ul className="divide-y">
            {value.stores.map((each) => (
              <li key={each.name} className="px-4 py-2.5 text-sm">
                <p className="flex gap-2">
                  <span className="flex-1 font-medium">{isKey(`store_${each.name}`) ? t(`store_${each.name}` as Key) : each.name}</span>
                  {each.count !== null && (
                    <span className="text-muted-foreground">
                      {t(each.name === "transcripts" ? "chatCount" : "fileCount", { n: each.count })}
                    </span>
                  )}
                  <span className="w-20 text-right tabular-nums">{bytes(each.bytes)}</span>
                </p>
                <p className="truncate font-mono text-xs text-muted-foreground" title={each.path}>
                  {each.path}
                </p>
              </li>
            ))}
          </ul>
        </Card>

        <div className="flex min-w-0 flex-col gap-4">
          <Card>
            <Title icon={<Eye />} text={t("clients")} />
            <ul className="divide-y">
              {value.viewers.map((each, index) => (
                <li key={index} className="flex gap-2 px-4 py-2.5 text-sm">
                  <span className="min-w-0 flex-1 truncate">
                    {each.name || t("thisMachine")} <span className="text-muted-foreground">· {t("page")}</span>
                  </span>
                  <span className="text-muted-foreground">{t("since", { span: span(now / 1000 - each.since) })}</span>
                </li>
              ))}
              {value.clients
                .filter((each) => !each.program.startsWith("Mozilla"))
                .map((each) => (
                  <li key={`${each.name} ${each.way} ${each.program}`} className="flex gap-2 px-4 py-2.5 text-sm">
                    <span className="min-w-0 flex-1 truncate">
                      {each.name || t(each.way && value.token ? "somebody" : "thisMachine")}
                      <span className="text-muted-foreground">
                        {each.way && ` · ${t("byWay", { way: each.way === "ws" ? "/ws" : "Connect" })}`}
                        {(each.program || !each.way) && ` · ${each.program || t("unnamed")}`}
                      </span>
                    </span>
                    <span className="text-muted-foreground">
                      {t("requests", { n: each.requests })} · {t("ago", { span: span(now / 1000 - each.last) })}
                    </span>
                  </li>
                ))}
            </ul>
          </Card>
          <Card>
            <Title icon={<Puzzle />} text={t("servers")} />
            <ul className="divide-y">
              {value.servers.map((each) => (
                <li key={each.name} className="flex items-center gap-2 px-4 py-2.5 text-sm">
                  <span className="flex-1 font-medium">{each.name}</span>
                  <span className="text-muted-foreground">{t("toolCount", { n: each.tools })}</span>
                  <Badge variant={each.offered ? "positive" : "default"}>
                    {each.offered ? "/mcp" : `/mcp/${each.name}`}
                  </Badge>
                </li>
              ))}
            </ul>
          </Card>
          <Card>
            <Title icon={<Activity />} text={t("versions")} />
            <CardContent className="flex flex-wrap gap-2">
              {Object.entries({ "nanobot-transcript": value.version, ...value.versions }).map(([name, version]) => (
                <Badge key={name} variant="outline">
                  {name} {version}
                </Badge>
              ))}
              <Badge variant={value.token ? "positive" : "default"}>{t(value.token ? "tokensOn" : "tokensOff")}</Badge>
            </CardContent>
          </Card>
        </div>
      </div>
    </div>
  );
}

function Title({ icon, text, children }: { icon: ReactNode; text: string; children?: ReactNode }) {
  return (
    <CardHeader className="[&>svg]:size-4 [&>svg]:text-muted-foreground">
      {icon}
      <CardTitle className="flex-1">{text}</CardTitle>
      {children}
    </CardHeader>
  );
}

function Figure(props: { title: string; value: string; text?: string | undefined; tone?: "good" | "warn" | "bad" | undefined }) {
  return (
    <Card className="px-4 py-3">
      <p className="text-xs text-muted-foreground">{props.title}</p>
      <p
        className={cn(
          "mt-1 text-xl font-semibold",
          props.tone === "good" && "text-positive",
          props.tone === "warn" && "text-warning",
          props.tone === "bad" && "text-destructive",
        )}
      >
        {props.value}
      </p>
      {props.text && <p className="truncate text-xs text-muted-foreground">{props.text}</p>}
    </Card>
  );
}

function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
