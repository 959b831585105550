import { Lock, Mail, Users } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Empty } from "@/components/common";
import { LetterList } from "@/components/LetterList";
import { Loaded } from "@/components/Loaded";
import { Split } from "@/components/Split";
import { Dialog } from "@/components/ui/dialog";
import { useData } from "@/lib/data";
import { type Key, useT } from "@/lib/i18n";
import { useKeys } from "@/lib/keys";
import type { Page } from "@/lib/page";
import { go, href, leadOn } from "@/lib/router";
import { Agents } from "@/pages/mail/Agents";
import { Claims } from "@/pages/mail/Claims";
import { Found } from "@/pages/mail/Found";
import { Inbox } from "@/pages/mail/Inbox";
import { start } from "@/pages/mail/start";
import { Thread } from "@/pages/mail/Thread";
import { Threads } from "@/pages/mail/Threads";
import { type Project, ofMail } from "@/pages/mail/types";
import * as words from "@/pages/mail/words";
import { Write } from "@/pages/mail/Write";

export const mail: Page<typeof words> = {
  name: "mail",
  words,
  title: "mail",
  about: "about_mail",
  icon: <Mail />,
  show: (place) => <MailPage place={place} />,
  listed: { path: "/api/mail/projects", field: "projects" },
  start,
};

const VIEWS: { name: string; title: Key; icon: ReactNode }[] = [
  { name: "threads", title: "threads", icon: <Mail /> },
  { name: "agents", title: "agents", icon: <Users /> },
  { name: "claims", title: "claims", icon: <Lock /> },
];

/** #/mail/PROJECT/VIEW/WHAT: a thread, or the letters of an agent. */
function MailPage({ place }: { place: string[] }) {
  const t = useT();
  const projects = useData<{ projects: Project[]; newest: string | null }>("/api/mail/projects", {}, ofMail);
  const first = projects.value && (projects.value.newest ?? projects.value.projects.at(-1)?.key);
  const [wanted] = place;
  const project = wanted ?? first;
  useEffect(() => {
    // It stays open, wherever somebody writes next.
    if (!wanted && first) leadOn("mail", first);
  }, [wanted, first]);
  return (
    <Loaded data={projects}>
      {({ projects: known }) => {
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
          <LetterList
            title={t("mail")}
            whose={{
              label: t("project"),
              current: project,
              all: known.map(({ key }) => ({ name: key })),
              choose: (name) => go("mail", name, view),
            }}
            write={() => setWriting([])}
            onFind={setQuery}
            tabs={{
              label: t("views"),
              tabs: VIEWS.map((each) => ({ ...each, title: t(each.title) })),
              current: view,
              link: (name) => href("mail", project, name),
            }}
          >
            {query ? (
              <Found project={project} query={query} current={view === "threads" ? open : undefined} />
            ) : view === "agents" ? (
              <Agents project={project} current={open} />
            ) : view === "claims" ? (
              <Claims project={project} />
            ) : (
              <Threads project={project} current={open} />
            )}
          </LetterList>
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
