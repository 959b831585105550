import { Lock, Mail, MailPlus, Users } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Empty } from "@/components/common";
import { Find } from "@/components/Find";
import { Loaded } from "@/components/Loaded";
import { Bar, Split } from "@/components/Split";
import { Tabs } from "@/components/Tabs";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Select } from "@/components/ui/input";
import { useData } from "@/lib/data";
import { type Key, useT } from "@/lib/i18n";
import { useKeys } from "@/lib/keys";
import { go, href } from "@/lib/router";
import { Agents } from "@/pages/mail/Agents";
import { Claims } from "@/pages/mail/Claims";
import { Found } from "@/pages/mail/Found";
import { Inbox } from "@/pages/mail/Inbox";
import { Thread } from "@/pages/mail/Thread";
import { Threads } from "@/pages/mail/Threads";
import { type Project, ofMail } from "@/pages/mail/types";
import { Write } from "@/pages/mail/Write";

const VIEWS: { name: string; title: Key; icon: ReactNode }[] = [
  { name: "threads", title: "threads", icon: <Mail /> },
  { name: "agents", title: "agents", icon: <Users /> },
  { name: "claims", title: "claims", icon: <Lock /> },
];

/** #/mail/PROJECT/VIEW/WHAT: a thread, or the letters of an agent. */
export function MailPage({ place }: { place: string[] }) {
  const t = useT();
  const projects = useData<{ projects: Project[] }>("/api/mail/projects", {}, ofMail);
  return (
    <Loaded data={projects}>
      {({ projects: known }) => {
        const project = place[0] ?? known.at(-1)?.key;
        if (!project) return <Empty icon={<Mail />} title={t("noMail")} text={t("noMailHint")} />;
        return <MailOf project={project} known={known} view={place[1] ?? "threads"} open={place[2]} />;
      }}
    </Loaded>
  );
}

function MailOf(props: { project: string; known: Project[]; view: string; open: string | undefined }) {
  const { project, known, view, open } = props;
  const t = useT();
  const [query, setQuery] = useState("");
  const [writing, setWriting] = useState<string[] | null>(null);
  useKeys({ Escape: () => go("mail", project, view), c: () => setWriting([]) });

  return (
    <>
      <Split
        label={t("mail")}
        open={open !== undefined}
        wide
        list={
          <>
            <Bar>
              <h1 className="sr-only">{t("mail")}</h1>
              <Select
                aria-label={t("project")}
                value={project}
                className="min-w-0 flex-1"
                onChange={(event) => go("mail", event.target.value, view)}
              >
                {known.map((each) => (
                  <option key={each.key} value={each.key}>
                    {each.key}
                  </option>
                ))}
              </Select>
              <Button aria-label={t("write")} title={`${t("write")} (c)`} onClick={() => setWriting([])}>
                <MailPlus />
              </Button>
            </Bar>
            <div className="flex shrink-0 gap-2 border-b px-4 py-2">
              <Find label={t("searchMail")} onFind={setQuery} />
            </div>
            <Tabs
              label={t("views")}
              tabs={VIEWS.map((each) => ({ ...each, title: t(each.title) }))}
              current={view}
              link={(name) => href("mail", project, name)}
            />
            <div className="min-h-0 flex-1 overflow-y-auto">
              {query ? (
                <Found project={project} query={query} />
              ) : view === "agents" ? (
                <Agents project={project} current={open} />
              ) : view === "claims" ? (
                <Claims project={project} />
              ) : (
                <Threads project={project} current={open} />
              )}
            </div>
          </>
        }
      >
        {view === "agents" && open ? (
          <Inbox project={project} agent={open} write={() => setWriting([open])} />
        ) : open ? (
          <Thread key={`${project} ${open}`} project={project} id={open} view={view} />
        ) : view === "claims" ? (
          <Empty icon={<Lock />} title={t("claims")} text={t("claimsHint")} />
        ) : (
          <Empty icon={<Mail />} title={t(view === "agents" ? "chooseAgent" : "chooseThread")} text={t("mailHint")} />
        )}
      </Split>
      <Dialog open={writing !== null} title={t("writeAsPerson")} onClose={() => setWriting(null)}>
        {writing && <Write project={project} to={writing} done={() => setWriting(null)} />}
      </Dialog>
    </>
  );
}
