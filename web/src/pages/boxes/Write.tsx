import { type ReactNode, useId } from "react";
import { LetterForm } from "@/components/LetterForm";
import { Label, Select } from "@/components/ui/input";
import { toast } from "@/components/ui/toast";
import { post } from "@/lib/api";
import { useDraft } from "@/lib/drafts";
import { useT } from "@/lib/i18n";
import { goLater } from "@/lib/router";
import { KindOptions } from "@/pages/boxes/Kind";

export function Write({ agent, others, types, done }: { agent: string; others: string[]; types: string[]; done: () => void }) {
  const t = useT();
  const place = `boxes ${agent}`;
  const { draft, change, done: sent } = useDraft(place, { to: "", type: "INFO" });
  const { type } = draft;
  const to = others.includes(draft.to) ? draft.to : (others[0] ?? "");
  const send = async (title: string, content: string) => {
    const then = goLater();
    const mail = { agent, to, type, title, content };
    const made = await post<{ id: string; note: string }>("/api/boxes/send", mail);
    toast(t("sent"), { hint: made.note });
    sent();
    done();
    then("boxes", agent, "outbox", made.id);
  };
  return (
    <LetterForm
      place={place}
      missing={to ? undefined : t("noRecipient")}
      send={send}
      before={
        <div className="flex flex-wrap gap-3">
          <Choice label={t("to")} value={to} choose={(name) => change({ to: name })}>
            {others.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </Choice>
          <Choice label={t("type")} value={type} choose={(name) => change({ type: name })}>
            <KindOptions types={types} />
          </Choice>
        </div>
      }
    />
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  choose: (value: string) => void;
  children: ReactNode;
}

function Choice(props: ChoiceProps) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <Label htmlFor={id}>{props.label}</Label>
      <Select id={id} value={props.value} onChange={(event) => props.choose(event.target.value)}>
        {props.children}
      </Select>
    </div>
  );
}
