import { SendHorizontal } from "lucide-react";
import { useState } from "react";
import { GrowingField } from "@/components/GrowingField";
import { Button } from "@/components/ui/button";
import { toast } from "@/components/ui/toast";
import { type Talk, write } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { AddFile, Files, useFiles } from "@/pages/questions/files";

export function Unasked({ talk }: { talk: Talk }) {
  const t = useT();
  const [text, setText] = useState("");
  const { files, add, paste, remove, clear } = useFiles();
  const ready = text.trim() !== "" || files.length > 0;
  const send = () => {
    if (!ready) return;
    if (!write(talk, text, files.map((file) => file.content))) return toast(t("offline"), { bad: true });
    setText("");
    clear();
  };
  const label = t("writeUnasked", { name: talk.agent || t("agent") });
  return (
    <footer className="flex shrink-0 flex-col gap-2 border-t bg-surface px-4 py-2.5">
      <Files files={files} remove={remove} />
      <div className="flex items-end gap-2">
        <GrowingField label={label} value={text} onText={setText} onSend={send} onPaste={paste} />
        <AddFile add={(chosen) => void add(chosen)} />
        <Button variant="outline" className="h-10" aria-label={t("send")} title="Ctrl+Enter" disabled={!ready} onClick={send}>
          <SendHorizontal />
        </Button>
      </div>
    </footer>
  );
}
