import { useId, useState } from "react";
import { Button } from "@/components/ui/button";
import { Input, Label, Select, Textarea } from "@/components/ui/input";
import { toast } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { useDoing } from "@/lib/doing";
import { useT } from "@/lib/i18n";
import { isSend } from "@/lib/keys";
import { go } from "@/lib/router";

export function Write({ agent, others, types, done }: { agent: string; others: string[]; types: string[]; done: () => void }) {
  const t = useT();
  const id = useId();
  const [to, setTo] = useState(others[0] ?? "");
  const [type, setType] = useState("INFO");
  const [title, setTitle] = useState("");
  const [content, setContent] = useState("");
  const [busy, doing] = useDoing();
  const ready = to !== "" && title.trim() !== "" && content.trim() !== "" && !busy;
  const send = async () => {
    const mail = { agent, to, type, title, content };
    const made = await post<{ id: string; note: string }>("/api/boxes/send", mail);
    toast(t("sent"), { hint: made.note });
    done();
    go("boxes", agent, "outbox", made.id);
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
      <div className="flex flex-wrap gap-3">
        <div className="flex flex-col gap-1">
          <Label htmlFor={`${id}r`}>{t("to")}</Label>
          <Select id={`${id}r`} value={to} onChange={(event) => setTo(event.target.value)}>
            {others.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </Select>
        </div>
        <div className="flex flex-col gap-1">
          <Label htmlFor={`${id}y`}>{t("type")}</Label>
          <Select id={`${id}y`} value={type} onChange={(event) => setType(event.target.value)}>
            {types.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </Select>
        </div>
      </div>
      <Label htmlFor={`${id}t`}>{t("subject")}</Label>
      <Input id={`${id}t`} data-first value={title} onChange={(event) => setTitle(event.target.value)} />
      <Label htmlFor={`${id}c`}>{t("body")}</Label>
      <Textarea id={`${id}c`} rows={7} value={content} onChange={(event) => setContent(event.target.value)} />
      <Button type="submit" className="self-end" disabled={!ready}>
        {t("send")}
      </Button>
    </form>
  );
}
