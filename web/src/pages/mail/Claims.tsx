import { Clock, Lock } from "lucide-react";
import { Avatar, Empty, Loading, Problem, useNow, useSpan } from "@/components/common";
import { rowStyle } from "@/components/ListRow";
import { Badge } from "@/components/ui/badge";
import { useData } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { cn } from "@/lib/utils";
import { type Claim, ofMail } from "@/pages/mail/types";

export function Claims({ project }: { project: string }) {
  const t = useT();
  const span = useSpan();
  const now = useNow();
  const claims = useData<{ claims: Claim[] }>("/api/mail/claims", { project }, ofMail);
  if (claims.error) return <Problem error={claims.error} retry={claims.reload} />;
  if (!claims.value) return <Loading />;
  const active = claims.value.claims.filter((claim) => claim.expires_ts * 1000 > now);
  if (!active.length) return <Empty icon={<Lock />} title={t("noClaims")} text={t("noClaimsHint")} />;
  return (
    <ul>
      {active.map((claim) => (
        <li key={`${claim.path} ${claim.agent}`} className={cn(rowStyle, "hover:bg-transparent")}>
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
                {t("left", { span: span(claim.expires_ts - now / 1000) })}
              </Badge>
            </p>
          </div>
        </li>
      ))}
    </ul>
  );
}
