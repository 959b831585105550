import { useId, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Input, Label } from "@/components/ui/input";
import { type Talk, emptyTalk, talkKey } from "@/lib/assistant/items";
import { useT } from "@/lib/i18n";
import { go, href } from "@/lib/router";
import { enterBox } from "@/pages/questions/enterBox";

interface Props {
  talks: readonly Talk[];
  open: boolean;
  onClose: () => void;
}

/** Leads to the conversation with any agent, also with one that has asked and reported nothing. */
export function WriteTo({ talks, open, onClose }: Props) {
  const t = useT();
  const chosen = (key: string) => {
    onClose();
    if (location.hash === href("questions", key)) return enterBox();
    addEventListener("hashchange", enterBox, { once: true });
    go("questions", key);
  };
  return (
    <Dialog open={open} title={t("writeToAnother")} onClose={onClose}>
      <Whom talks={talks} chosen={chosen} />
    </Dialog>
  );
}

/** Asks for the agent; those that are known are offered. */
function Whom({ talks, chosen }: { talks: readonly Talk[]; chosen: (key: string) => void }) {
  const t = useT();
  const id = useId();
  const [project, setProject] = useState("");
  const [agent, setAgent] = useState("");
  const there = talks.filter((talk) => talk.project === project.trim());
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        const talk = emptyTalk(talkKey({ project: project.trim(), agent: agent.trim() }));
        if (talk) chosen(talk.key);
      }}
    >
      <p className="text-sm text-muted-foreground">{t("writeToHint")}</p>
      <Label htmlFor={`${id}p`}>{t("project")}</Label>
      <Field id={`${id}p`} first value={project} change={setProject} known={talks.map((talk) => talk.project)} />
      <Label htmlFor={`${id}a`}>{t("agentName")}</Label>
      <Field id={`${id}a`} value={agent} change={setAgent} known={(there.length ? there : talks).map((talk) => talk.agent)} />
      <Button type="submit" className="ml-auto">
        {t("openTalk")}
      </Button>
    </form>
  );
}

function Field(props: { id: string; first?: boolean; value: string; change: (text: string) => void; known: string[] }) {
  const { id, first = false, value, change, known } = props;
  return (
    <>
      <Input
        id={id}
        data-first={first || undefined}
        required={first}
        pattern={first ? ".*\\S.*" : undefined}
        autoComplete="off"
        spellCheck={false}
        list={`${id}l`}
        value={value}
        onChange={(event) => change(event.target.value)}
      />
      <datalist id={`${id}l`}>
        {[...new Set(known)].filter(Boolean).map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}
