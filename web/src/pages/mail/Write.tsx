import { CheckCheck } from "lucide-react";
import { Problem } from "@/components/common";
import { LetterForm } from "@/components/LetterForm";
import { More } from "@/components/More";
import { Select } from "@/components/ui/input";
import { toast } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { usePages } from "@/lib/data";
import { useDraft } from "@/lib/drafts";
import { useT } from "@/lib/i18n";
import { goLater } from "@/lib/router";
import { cn } from "@/lib/utils";
import { type AgentPage, ofMail } from "@/pages/mail/types";

export function Write({ project, to, done }: { project: string; to: string[]; done: () => void }) {
  const t = useT();
  const agents = usePages<AgentPage>("/api/mail/agents", { project }, ofMail);
  const place = `mail ${project} to ${to.join(" ")}`;
  const { draft, key, change, done: sent } = useDraft(place, { chosen: to, importance: "normal", ack: false });
  const { chosen, importance, ack } = draft;
  const listed = agents.value?.flatMap((page) => page.agents);
  const known = listed?.filter((agent) => agent.program !== "person").map((agent) => agent.name);
  const names = [...new Set(known)]; // agents of two projects may have one name

  const send = async (subject: string, body: string) => {
    const then = goLater();
    const letter = { project, to: chosen, subject, body, importance, ack, key };
    const made = await post<{ id: string; thread_id: string | null }>("/api/mail/send", letter);
    toast(t("sent"));
    sent();
    done();
    then("mail", project, "threads", made.thread_id ?? made.id);
  };
  return (
    <LetterForm
      place={place}
      missing={chosen.length ? undefined : t("noRecipient")}
      send={send}
      before={
        <>
          <p className="text-[13px] text-muted-foreground">{t("asPersonHint")}</p>
          <fieldset>
            <legend className="mb-1 text-[13px] font-medium text-muted-foreground">{t("to")}</legend>
            {agents.error && <Problem error={agents.error} retry={agents.reload} />}
            {known?.length === 0 && <p className="text-sm">{t("noAgents")}</p>}
            <div className="flex flex-wrap gap-1.5">
              {names.map((name) => (
                <label
                  key={name}
                  className={cn(
                    "relative flex cursor-pointer items-center gap-1.5 rounded-full border px-3 py-1 text-[13px] has-focus-visible:outline-2 has-focus-visible:outline-ring",
                    chosen.includes(name) && "border-primary bg-accent text-accent-foreground",
                  )}
                >
                  <input
                    type="checkbox"
                    className="sr-only"
                    checked={chosen.includes(name)}
                    onChange={() =>
                      change({
                        chosen: chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name],
                      })
                    }
                  />
                  {chosen.includes(name) && <CheckCheck className="size-3.5" aria-hidden />}
                  {name}
                </label>
              ))}
            </div>
            <More of={agents} />
          </fieldset>
        </>
      }
      after={
        <>
          <Select aria-label={t("importance")} value={importance} onChange={(event) => change({ importance: event.target.value })}>
            {(["low", "normal", "high", "urgent"] as const).map((level) => (
              <option key={level} value={level}>
                {t(level)}
              </option>
            ))}
          </Select>
          <label className="flex items-center gap-2 text-sm">
            <input type="checkbox" checked={ack} onChange={(event) => change({ ack: event.target.checked })} />
            {t("ackWanted")}
          </label>
        </>
      }
    />
  );
}
