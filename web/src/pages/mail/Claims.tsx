import { Clock, Lock, LockOpen } from "lucide-react";
import { useState } from "react";
import { Avatar, Empty, useNow, useSpan } from "@/components/common";
import { rowStyle } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { More } from "@/components/More";
import { Sure } from "@/components/Sure";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { toast } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { usePages } from "@/lib/data";
import { useDoing } from "@/lib/doing";
import { useT } from "@/lib/i18n";
import { cn } from "@/lib/utils";
import { type Claim, type ClaimPage, ofMail } from "@/pages/mail/types";

/** Which files agents work on. A claim that has run out is left out without another request. */
export function Claims({ project }: { project: string }) {
  const t = useT();
  const now = useNow();
  const data = usePages<ClaimPage>("/api/mail/claims", { project }, ofMail);
  const [busy, doing] = useDoing();
  const [asking, setAsking] = useState<Claim>();
  const free = async (claim: Claim, all: boolean) => {
    setAsking(undefined);
    const which = all ? { all } : { paths: [claim.path] };
    const { released } = await post<{ released: string[] }>("/api/mail/release", { project, agent: claim.agent, ...which });
    toast(t("freed", { n: released.length }));
    data.reload();
  };
  const known = data.value?.flatMap((page) => page.claims) ?? [];
  const active = known.filter((claim) => claim.expires_ts * 1000 > now);
  const ofHolder = active.filter((claim) => claim.agent === asking?.agent);
  return (
    <>
      <Loaded data={data}>
        {() => {
          if (!active.length) return <Empty icon={<Lock />} title={t("noClaims")} text={t("claimsHint")} />;
          return (
            <>
              <ul>
                {active.map((claim) => (
                  <ClaimRow
                    key={`${claim.path} ${claim.agent}`}
                    claim={claim}
                    left={claim.expires_ts - now / 1000}
                    free={() => setAsking(claim)}
                    busy={busy}
                  />
                ))}
              </ul>
              <More of={data} />
            </>
          );
        }}
      </Loaded>
      <Dialog open={asking !== undefined} title={t("free")} onClose={() => setAsking(undefined)}>
        {asking && (
          <Sure question={t("freeSure", { name: asking.agent, path: asking.path })} no={() => setAsking(undefined)}>
            {ofHolder.length > 1 && (
              <Button variant="destructive" onClick={() => void doing(() => free(asking, true))}>
                {t("freeAll", { name: asking.agent })}
              </Button>
            )}
            <Button onClick={() => void doing(() => free(asking, false))}>{t("freeThis")}</Button>
          </Sure>
        )}
      </Dialog>
    </>
  );
}

function ClaimRow({ claim, left, free, busy }: { claim: Claim; left: number; free: () => void; busy: boolean }) {
  const t = useT();
  const span = useSpan();
  return (
    <li className={cn(rowStyle, "hover:bg-transparent")}>
      <Avatar name={claim.agent} bot small />
      <div className="min-w-0 flex-1 text-[13px]">
        <p className="font-mono text-sm break-all">{claim.path}</p>
        <p className="mt-0.5 text-muted-foreground">
          {claim.agent}
          {claim.reason && ` · ${claim.reason}`}
        </p>
        <p className="mt-1 flex gap-1.5">
          <Badge variant={claim.exclusive ? "warning" : "default"}>{t(claim.exclusive ? "exclusive" : "shared")}</Badge>
          <Badge variant="outline">
            <Clock aria-hidden />
            {t("left", { span: span(left) })}
          </Badge>
        </p>
      </div>
      <Button
        variant="ghost"
        size="icon"
        disabled={busy}
        aria-label={t("freePath", { path: claim.path })}
        title={t("free")}
        onClick={free}
      >
        <LockOpen />
      </Button>
    </li>
  );
}
