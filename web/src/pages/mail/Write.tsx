import { CheckCheck } from "lucide-react";
import { useId, useState } from "react";
import { Problem } from "@/components/common";
import { Button } from "@/components/ui/button";
import { Input, Label, Select, Textarea } from "@/components/ui/input";
import { toast } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { useData } from "@/lib/data";
import { useDoing } from "@/lib/doing";
import { useT } from "@/lib/i18n";
import { isSend } from "@/lib/keys";
import { go } from "@/lib/router";
import { cn, onceKey } from "@/lib/utils";
import { type Agent, ofMail } from "@/pages/mail/types";

export function Write({ project, to, done }: { project: string; to: string[]; done: () => void }) {
  const t = useT();
  const id = useId();
  const agents = useData<{ agents: Agent[] }>("/api/mail/agents", { project }, ofMail);
  const [chosen, setChosen] = useState<string[]>(to);
  const [subject, setSubject] = useState("");
  const [body, setBody] = useState("");
  const [importance, setImportance] = useState("normal");
  const [ack, setAck] = useState(false);
  const [busy, doing] = useDoing();
  const [key] = useState(onceKey);
  const ready = chosen.length > 0 && subject.trim() !== "" && body.trim() !== "" && !busy;
  const known = agents.value?.agents.filter((agent) => agent.program !== "person").map((agent) => agent.name);
  const names = [...new Set(known)]; // agents of two projects may have one name

  const send = async () => {
    const letter = { project, to: chosen, subject, body, importance, ack, key };
    const made = await post<{ id: string; thread_id: string | null }>("/api/mail/send", letter);
    toast(t("sent"));
    done();
    go("mail", project, "threads", made.thread_id ?? made.id);
  };
  const sendReady = () => {
    if (ready) void doing(send);
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        sendReady();
      }}
      onKeyDown={(event) => isSend(event) && sendReady()}
    >
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
                "flex cursor-pointer items-center gap-1.5 rounded-full border px-3 py-1 text-[13px] has-focus-visible:outline-2 has-focus-visible:outline-ring",
                chosen.includes(name) && "border-primary bg-accent text-accent-foreground",
              )}
            >
              <input
                type="checkbox"
                className="sr-only"
                checked={chosen.includes(name)}
                onChange={() =>
                  setChosen(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name])
                }
              />
              {chosen.includes(name) && <CheckCheck className="size-3.5" aria-hidden />}
              {name}
            </label>
          ))}
        </div>
      </fieldset>
      <Label htmlFor={`${id}s`}>{t("subject")}</Label>
      <Input data-first id={`${id}s`} value={subject} onChange={(event) => setSubject(event.target.value)} />
      <Label htmlFor={`${id}b`}>{t("body")}</Label>
      <Textarea id={`${id}b`} rows={7} value={body} onChange={(event) => setBody(event.target.value)} />
      <div className="flex flex-wrap items-center gap-3">
        <Select aria-label={t("importance")} value={importance} onChange={(event) => setImportance(event.target.value)}>
          {(["low", "normal", "high", "urgent"] as const).map((level) => (
            <option key={level} value={level}>
              {t(level)}
            </option>
          ))}
        </Select>
        <label className="flex items-center gap-2 text-sm">
          <input type="checkbox" checked={ack} onChange={(event) => setAck(event.target.checked)} />
          {t("ackWanted")}
        </label>
        <Button type="submit" className="ml-auto" disabled={!ready}>
          {t("send")}
        </Button>
      </div>
    </form>
  );
}
