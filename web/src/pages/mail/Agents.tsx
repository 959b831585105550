import { Users } from "lucide-react";
import { Avatar, Empty } from "@/components/common";
import { ListRow } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { Badge } from "@/components/ui/badge";
import { useData } from "@/lib/data";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { type Agent, ofMail } from "@/pages/mail/types";

export function Agents({ project, current }: { project: string; current: string | undefined }) {
  const t = useT();
  const data = useData<{ agents: Agent[] }>("/api/mail/agents", { project }, ofMail);
  return (
    <Loaded data={data}>
      {({ agents }) =>
        agents.length ? (
          <ul>
            {agents.map((agent) => {
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
        ) : (
          <Empty icon={<Users />} title={t("noAgents")} />
        )
      }
    </Loaded>
  );
}
