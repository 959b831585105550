import { Users } from "lucide-react";
import { Avatar, Empty, Loading, Problem, Time } from "@/components/common";
import { rowStyle } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { useData } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { type Agent, ofMail } from "@/pages/mail/types";

export function Agents({ project, current }: { project: string; current: string | undefined }) {
  const t = useT();
  const agents = useData<{ agents: Agent[] }>("/api/mail/agents", { project }, ofMail);
  if (agents.error) return <Problem error={agents.error} retry={agents.reload} />;
  if (!agents.value) return <Loading />;
  if (!agents.value.agents.length) return <Empty icon={<Users />} title={t("noAgents")} />;
  return (
    <ul>
      {agents.value.agents.map((agent) => (
        <li key={`${agent.project} ${agent.name}`}>
          <a
            data-row
            href={href("mail", project, "agents", agent.name)}
            aria-current={agent.name === current}
            className={rowStyle}
          >
            <Avatar name={agent.name} bot={agent.program !== "person"} />
            <span className="min-w-0 flex-1">
              <span className="flex items-baseline gap-2">
                <span className="min-w-0 flex-1 truncate text-sm font-semibold">{agent.name}</span>
                <Time ms={Date.parse(agent.last_active)} className="shrink-0 text-xs text-muted-foreground" />
              </span>
              <span className="mt-0.5 flex items-center gap-1.5 text-[13px] text-muted-foreground">
                <span className="min-w-0 flex-1 truncate">
                  {[agent.task, agent.program === "person" ? t("person") : agent.program, agent.model]
                    .filter(Boolean)
                    .join(" · ")}
                </span>
                {agent.unread > 0 && <Badge variant="solid">{t("unreadCount", { n: agent.unread })}</Badge>}
              </span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}
