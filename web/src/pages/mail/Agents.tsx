import { Users } from "lucide-react";
import { Avatar, Empty } from "@/components/common";
import { Listed } from "@/components/Listed";
import { ListRow } from "@/components/ListRow";
import { Badge } from "@/components/ui/badge";
import { usePages } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { type AgentPage, ofMail } from "@/pages/mail/types";

export function Agents({ project, current }: { project: string; current: string | undefined }) {
  const t = useT();
  const data = usePages<AgentPage>("/api/mail/agents", { project }, ofMail);
  return (
    <Listed data={data} items={(page) => page.agents} empty={<Empty icon={<Users />} title={t("noAgents")} />}>
      {(agent) => {
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
      }}
    </Listed>
  );
}
