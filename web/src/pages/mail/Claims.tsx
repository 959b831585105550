import { Clock, Lock } from "lucide-react";
import { Avatar, Empty, useNow, useSpan } from "@/components/common";
import { rowStyle } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { Badge } from "@/components/ui/badge";
import { useData } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { cn } from "@/lib/utils";
import { type Claim, ofMail } from "@/pages/mail/types";

/** Which files agents work on. A claim that has run out is left out without another request. */
export function Claims({ project }: { project: string }) {
  const t = useT();
  const now = useNow();
  const data = useData<{ claims: Claim[] }>("/api/mail/claims", { project }, ofMail);
  return (
    <Loaded data={data}>
      {({ claims }) => {
        const active = claims.filter((claim) => claim.expires_ts * 1000 > now);
        if (!active.length) return <Empty icon={<Lock />} title={t("noClaims")} text={t("claimsHint")} />;
        return (
          <ul>
            {active.map((claim) => (
              <ClaimRow key={`${claim.path} ${claim.agent}`} claim={claim} left={claim.expires_ts - now / 1000} />
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

function ClaimRow({ claim, left }: { claim: Claim; left: number }) {
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
    </li>
  );
}
