import { CheckCheck, SendHorizontal } from "lucide-react";
import { useState } from "react";
import { GrowingField } from "@/components/GrowingField";
import { Button } from "@/components/ui/button";
import type { WireContent } from "@/lib/assistant/socket";
import { type Item, answer } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { cn } from "@/lib/utils";
import { AddFile, Files, useFiles } from "@/pages/questions/files";

/** Choices, words, pictures and files: whatever of it there is becomes the answer. */
export function Reply({ item, disabled }: { item: Item; disabled: boolean }) {
  const t = useT();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<Record<number, string[]>>({});
  const { files, setFiles, add, paste } = useFiles();
  const ready = text.trim() !== "" || files.length > 0 || Object.values(chosen).some((labels) => labels.length > 0);
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
  const toggle = (index: number, label: string, multiple: boolean) => {
    const before = chosen[index] ?? [];
    const has = before.includes(label);
    const next = multiple ? (has ? before.filter((each) => each !== label) : [...before, label]) : has ? [] : [label];
    setChosen({ ...chosen, [index]: next });
  };
  return (
    <div className="flex flex-col gap-2.5 border-t px-4 py-3">
      {item.choices.map((choice, index) => (
        <fieldset key={index}>
          {(choice.question || choice.header) && (
            <legend className="mb-1.5 text-sm font-medium">{choice.question || choice.header}</legend>
          )}
          <div className="flex flex-wrap gap-2">
            {choice.options.map((option) => {
              const on = chosen[index]?.includes(option.label) ?? false;
              return (
                <label
                  key={option.label}
                  className={cn(
                    "cursor-pointer rounded-lg border px-3 py-1.5 text-sm hover:bg-muted has-focus-visible:outline-2 has-focus-visible:outline-ring",
                    on && "border-primary bg-accent text-accent-foreground",
                  )}
                >
                  <input
                    type={choice.multiple ? "checkbox" : "radio"}
                    name={`${item.id}-${index}`}
                    className="sr-only"
                    checked={on}
                    onChange={() => toggle(index, option.label, choice.multiple)}
                  />
                  <span className="font-medium">{option.label}</span>
                  {option.description && <span className="block text-xs text-muted-foreground">{option.description}</span>}
                </label>
              );
            })}
          </div>
        </fieldset>
      ))}
      <Files files={files} remove={(file) => setFiles(files.filter((each) => each !== file))} />
      <div className="flex items-end gap-2">
        <GrowingField
          label={t("yourAnswer")}
          value={text}
          onText={setText}
          onSend={() => ready && !disabled && send()}
          onPaste={paste}
        />
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
