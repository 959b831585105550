import { Users } from "lucide-react";
import { Avatar, Empty, Loading, Problem } from "@/components/common";
import { ListRow } from "@/components/ListRow";
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
      {agents.value.agents.map((agent) => {
        const person = agent.program === "person";
        const about = [agent.task, person ? t("person") : agent.program, agent.model];
        return (
          <li key={`${agent.project} ${agent.name}`}>
            <ListRow
              to={href("mail", project, "agents", agent.name)}
              current={agent.name === current}
              face={<Avatar name={agent.name} bot={!person} />}
              title={agent.name}
              ms={Date.parse(agent.last_active)}
              text={about.filter(Boolean).join(" · ")}
              marks={agent.unread > 0 && <Badge variant="solid">{t("unreadCount", { n: agent.unread })}</Badge>}
            />
          </li>
        );
      })}
    </ul>
  );
}
