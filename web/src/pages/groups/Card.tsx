import { Check, Square, SquareCheck } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Markdown } from "@/components/Markdown";
import { Button } from "@/components/ui/button";
import { type Item, talkKey } from "@/lib/assistant/items";
import { assistant, useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { cn } from "@/lib/utils";
import { optionOf, partsOf, questionOf, stateOf } from "@/pages/groups/cards";
import type { Message } from "@/pages/groups/types";
import { contentsOf, inWords } from "@/pages/questions/reply";

const LEADS = { open: "toQuestion", sending: "toQuestion", answered: "toAnswered", ended: "toEnded" } as const;

/** A card with its buttons. Where it asks what an agent asks, they answer that; others work where the group talks. */
export function CardText({ message }: { message: Message }) {
  const t = useT();
  const { items } = useAssistant();
  const item = questionOf(message, items);
  const parts = partsOf(message.text);
  return (
    <>
      {parts.map((part, index) =>
        "words" in part ? (
          <Markdown key={index} text={part.words} className={cn(index > 0 && "mt-2")} />
        ) : item ? (
          <Answers key={index} item={item} buttons={part.buttons} />
        ) : (
          <Shown key={index} buttons={part.buttons} />
        ),
      )}
      {!item && parts.some((part) => "buttons" in part) && (
        <p className="mt-1 text-xs text-muted-foreground">{t("pressInChat")}</p>
      )}
      {item && (
        <a href={href("questions", talkKey(item))} className="mt-1 block text-sm text-primary underline underline-offset-2">
          {t(LEADS[stateOf(item)])}
        </a>
      )}
    </>
  );
}

/** Buttons that answer a question or confirm a report: each at once, or together where several may be chosen. */
function Answers({ item, buttons }: { item: Item; buttons: string[] }) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [choice] = item.choices;
  if (stateOf(item) !== "open") return <Shown buttons={buttons} pressed={(button) => isSaid(button, item)} />;
  const say = (labels: string[]) =>
    assistant.answer(item, contentsOf(item, { text: "", files: [], problem: "", chosen: { 0: labels } }));
  if (choice?.multiple && item.choices.length === 1) {
    const toggle = (label: string) =>
      setChosen(chosen.includes(label) ? chosen.filter((each) => each !== label) : [...chosen, label]);
    const inOrder = choice.options.map(({ label }) => label).filter((label) => chosen.includes(label));
    return (
      <Row>
        {choice.options.map(({ label }, index) => (
          <Button
            key={index}
            variant="outline"
            size="sm"
            aria-pressed={chosen.includes(label)}
            className={cn(LOOK, chosen.includes(label) && CHOSEN)}
            onClick={() => toggle(label)}
          >
            {chosen.includes(label) ? <SquareCheck aria-hidden /> : <Square aria-hidden />}
            {label}
          </Button>
        ))}
        {buttons.map((button, index) => (
          <Button key={index} size="sm" className={LOOK} disabled={!inOrder.length} onClick={() => say(inOrder)}>
            {button}
          </Button>
        ))}
      </Row>
    );
  }
  return (
    <Row>
      {buttons.map((button, index) => {
        const option = optionOf(button, item);
        if (option === undefined && item.kind !== "report") return <Dead key={index} text={button} />;
        return (
          <Button
            key={index}
            variant="outline"
            size="sm"
            className={LOOK}
            // The second click of two may meet what the first one has brought here.
            onClick={(event) => event.detail < 2 && (option === undefined ? assistant.answer(item, inWords(button)) : say([option]))}
          >
            {button}
          </Button>
        );
      })}
    </Row>
  );
}

const LOOK = "h-auto min-h-8 max-w-full py-1 text-left whitespace-normal [overflow-wrap:anywhere]";
const CHOSEN = "border-primary bg-accent text-accent-foreground";

/** Buttons that nobody can press here. */
function Shown({ buttons, pressed }: { buttons: string[]; pressed?: (button: string) => boolean }) {
  return (
    <Row>
      {buttons.map((button, index) => (
        <Dead key={index} text={button} pressed={pressed?.(button) ?? false} />
      ))}
    </Row>
  );
}

function Dead({ text, pressed = false }: { text: string; pressed?: boolean }) {
  const t = useT();
  return (
    <span
      data-button
      title={pressed ? t("answeredSo") : undefined}
      className={cn(
        "inline-flex max-w-full items-center gap-1.5 rounded-md border border-dashed border-input px-2.5 py-1 text-[13px] font-medium text-muted-foreground [overflow-wrap:anywhere]",
        pressed && `border-solid ${CHOSEN}`,
      )}
    >
      {pressed && <Check className="size-3.5 shrink-0" aria-label={t("answeredSo")} />}
      {text}
    </span>
  );
}

function Row({ children }: { children: ReactNode }) {
  return <div className="mt-2 flex flex-wrap gap-1.5">{children}</div>;
}

/** Whether a button says what was answered. */
function isSaid(button: string, item: Item): boolean {
  const option = optionOf(button, item);
  return option !== undefined && item.contents.some((each) => each.text?.text.trim() === option.trim());
}
