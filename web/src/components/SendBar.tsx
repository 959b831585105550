import type { ReactNode } from "react";
import { GrowingField } from "@/components/GrowingField";
import { Button } from "@/components/ui/button";
import { useDoing } from "@/lib/doing";
import { useDraft } from "@/lib/drafts";

interface Props {
  /** The name of its draft. */
  place: string;
  label: string;
  action: string;
  icon: ReactNode;
  /** Sends a text; the key is the same when the same text is sent again, as after a failure it still is in the field. */
  send: (text: string, key: string) => Promise<void>;
  /** What stands between the field and its button. */
  children?: ReactNode;
}

/** The foot of what is open: a field, and the button that sends what was written. */
export function SendBar({ place, label, action, icon, send, children }: Props) {
  const { draft, key, change, done } = useDraft(place, { text: "" });
  const [busy, doing] = useDoing();
  const ready = draft.text.trim() !== "" && !busy;
  const sendDraft = () => {
    if (!ready) return;
    void doing(async () => {
      await send(draft.text, key);
      done();
    });
  };
  return (
    <footer className="flex shrink-0 items-end gap-2 border-t bg-surface px-4 py-2.5">
      <GrowingField
        label={label}
        value={draft.text}
        onText={(text) => change({ text })}
        onSend={sendDraft}
      />
      {children}
      <Button className="h-10" title="Ctrl+Enter" aria-label={action} disabled={!ready} onClick={sendDraft}>
        {icon}
        <span className="max-sm:hidden">{action}</span>
      </Button>
    </footer>
  );
}
