import { CheckCheck, SendHorizontal } from "lucide-react";
import { useState } from "react";
import { GrowingField } from "@/components/GrowingField";
import { Button } from "@/components/ui/button";
import type { WireContent } from "@/lib/assistant/socket";
import { type Item, answer } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { Choice } from "@/pages/questions/Choice";
import { AddFile, Files, useFiles } from "@/pages/questions/files";

/** Choices, words, pictures and files: whatever of it there is becomes the answer. */
export function Reply({ item, disabled }: { item: Item; disabled: boolean }) {
  const t = useT();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<Record<number, string[]>>({});
  const { files, add, paste, remove } = useFiles();
  // Where an agent wants nothing but its options, the hub takes nothing else.
  const ownWords = !item.choices.length || item.choices.some((choice) => choice.custom || !choice.options.length);
  const someChosen = Object.values(chosen).some((labels) => labels.length > 0);
  const ready = someChosen || (ownWords && (text.trim() !== "" || files.length > 0));
  const isReport = item.kind === "report";

  const send = (said = text) => {
    const parts: string[] = [];
    item.choices.forEach((choice, index) => {
      const labels = chosen[index];
      if (labels?.length) parts.push((item.choices.length > 1 ? `${choice.header || choice.question}: ` : "") + labels.join(", "));
    });
    if (said.trim()) parts.push(said);
    const contents: WireContent[] = parts.length ? [{ type: 1, text: { text: parts.join("\n\n") } }] : [];
    answer(item, [...contents, ...files.map((file) => file.content)]);
  };
  return (
    <div className="flex flex-col gap-2.5 border-t px-4 py-3">
      {item.choices.map((choice, index) => (
        <Choice
          key={index}
          choice={choice}
          name={`${item.id}-${index}`}
          chosen={chosen[index] ?? []}
          onChoose={(labels) => setChosen({ ...chosen, [index]: labels })}
        />
      ))}
      <Files files={files} remove={remove} />
      <div className="flex items-end justify-end gap-2">
        {ownWords && (
          <GrowingField
            label={t("yourAnswer")}
            value={text}
            onText={setText}
            onSend={() => ready && !disabled && send()}
            onPaste={paste}
          />
        )}
        <AddFile add={(chosenFiles) => void add(chosenFiles)} />
        {isReport && !ready ? (
          <Button className="h-10" disabled={disabled} onClick={() => send("OK")}>
            <CheckCheck />
            {t("confirm")}
          </Button>
        ) : (
          <Button className="h-10" title="Ctrl+Enter" disabled={!ready || disabled} onClick={() => send()}>
            <SendHorizontal />
            {t("answerIt")}
          </Button>
        )}
      </div>
    </div>
  );
}
