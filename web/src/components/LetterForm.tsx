import { type ReactNode, useId, useState } from "react";
import { Button } from "@/components/ui/button";
import { Input, Label, Textarea } from "@/components/ui/input";
import { useDoing } from "@/lib/doing";
import { useDraft } from "@/lib/drafts";
import { useT } from "@/lib/i18n";
import { isSend } from "@/lib/keys";
import { notOnlySpaces } from "@/lib/utils";

/** A letter that is being written: subject and text, with what else it has before and after them. */
export function LetterForm(props: {
  /** The name of its draft. */
  place: string;
  before: ReactNode;
  after?: ReactNode;
  /** What the rest of it still needs before it can be sent. */
  missing?: string | undefined;
  send: (subject: string, body: string) => Promise<void>;
}) {
  const t = useT();
  const id = useId();
  const { draft, change } = useDraft(props.place, { subject: "", body: "" });
  const { subject, body } = draft;
  const [busy, doing] = useDoing();
  const [told, setTold] = useState(false);
  const send = () => {
    setTold(true);
    if (!props.missing && !busy) void doing(() => props.send(subject, body));
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => isSend(event) && event.currentTarget.requestSubmit()}
    >
      {props.before}
      <Label htmlFor={`${id}s`}>{t("subject")}</Label>
      <Input
        id={`${id}s`}
        ref={notOnlySpaces(subject, t("onlySpaces"))}
        data-first
        required
        value={subject}
        onChange={(event) => change({ subject: event.target.value })}
      />
      <Label htmlFor={`${id}b`}>{t("body")}</Label>
      <Textarea
        id={`${id}b`}
        ref={notOnlySpaces(body, t("onlySpaces"))}
        rows={7}
        required
        value={body}
        onChange={(event) => change({ body: event.target.value })}
      />
      {told && props.missing && (
        <p role="alert" className="text-sm text-destructive">
          {props.missing}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-3">
        {props.after}
        <Button type="submit" className="ml-auto" disabled={busy}>
          {t("send")}
        </Button>
      </div>
    </form>
  );
}
