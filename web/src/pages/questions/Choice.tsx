import { Check, Square, SquareCheck } from "lucide-react";
import type { MouseEvent, ReactNode } from "react";
import { Markdown } from "@/components/Markdown";
import type { WireChoice } from "@/lib/assistant/socket";
import { useT } from "@/lib/i18n";
import { cn } from "@/lib/utils";

/** With how many options a key is there to choose them. */
const KEYS = 9;

interface Props {
  choice: WireChoice;
  /** The text of the question, which often is that of its only choice, too. */
  asked: string;
  /** What the radio buttons of this choice have in common. */
  name: string;
  chosen: readonly string[];
  onChoose: (labels: string[]) => void;
  /** Answers with one of the options; missing where more than one click is needed for that. */
  onAnswer: ((label: string) => void) | undefined;
  /** The number of its first option among all of the question, from 0 on; undefined while keys choose something else. */
  first: number | undefined;
  /** Whether it takes no click yet. */
  settling: boolean;
}

/** What could be chosen, where it is over, and what was. */
export function Offered({ choice, chosen }: { choice: WireChoice; chosen: readonly string[] }) {
  const t = useT();
  const title = choice.header || choice.question;
  return (
    <ul className="flex flex-wrap gap-1.5 text-xs text-muted-foreground" aria-label={title.slice(0, 200) || undefined}>
      {choice.options.map((option, index) => {
        const on = chosen.includes(option.label);
        return (
          <li
            key={index}
            data-chosen={on || undefined}
            className={cn(
              "rounded-md border px-2 py-0.5 [overflow-wrap:anywhere]",
              on && "border-primary bg-accent text-sm font-semibold text-accent-foreground",
            )}
            title={option.description || undefined}
          >
            {on && (
              <>
                <Check className="mr-1 inline size-4 align-[-3px]" aria-hidden />
                <span className="sr-only">{t("wasChosen")} </span>
              </>
            )}
            <span>{option.label}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** The labels that are chosen once one more is, or one fewer: in the agent's order, each once. */
export function toggled(choice: WireChoice, chosen: readonly string[], label: string): string[] {
  const labels = new Set(choice.multiple ? chosen : chosen.filter((each) => each === label));
  if (!labels.delete(label)) labels.add(label);
  return [...new Set(choice.options.map((option) => option.label))].filter((each) => labels.has(each));
}

/** The answers that an agent offers; one of them, or several where it said so. */
export function Choice({ choice, asked, name, chosen, onChoose, onAnswer, first, settling }: Props) {
  const title = choice.question || choice.header;
  const t = useT();
  return (
    <fieldset className="min-w-0" aria-label={title.slice(0, 200) || undefined}>
      {title.trim() && title.trim() !== asked.trim() && (
        <Markdown text={title} className="mb-1.5 text-sm font-medium" />
      )}
      {choice.multiple && <p className="mb-1.5 text-xs text-muted-foreground">{t("chooseSeveral")}</p>}
      <div className="flex flex-wrap gap-2">
        {choice.options.map((option, index) => (
          <Option
            key={index}
            number={first !== undefined && first + index < KEYS ? first + index + 1 : undefined}
            on={chosen.includes(option.label)}
            settling={settling}
            description={option.description}
            kind={onAnswer ? undefined : choice.multiple ? "checkbox" : "radio"}
            name={name}
            onToggle={() => onChoose(toggled(choice, chosen, option.label))}
            onAnswer={() => onAnswer?.(option.label)}
          >
            {choice.multiple && (
              <span aria-hidden className="mr-1.5 inline-flex align-[-2px] [&_svg]:size-4">
                {chosen.includes(option.label) ? <SquareCheck /> : <Square />}
              </span>
            )}
            <span>{option.label}</span>
          </Option>
        ))}
      </div>
    </fieldset>
  );
}

interface OptionProps {
  children: ReactNode;
  description: string;
  /** The key that chooses it. */
  number: number | undefined;
  on: boolean;
  settling: boolean;
  /** What it is where it is chosen before the answer is sent; undefined where a click on it is the answer. */
  kind: "checkbox" | "radio" | undefined;
  name: string;
  onToggle: () => void;
  onAnswer: () => void;
}

function Option(props: OptionProps) {
  const { children, description, number, on, settling, kind, name, onToggle, onAnswer } = props;
  const style = cn(
    "relative max-w-full cursor-pointer rounded-lg border border-input bg-surface px-3 py-1.5 text-left text-sm shadow-xs [overflow-wrap:anywhere] hover:border-primary hover:bg-muted has-focus-visible:outline-2 has-focus-visible:outline-ring pointer-coarse:min-h-11 pointer-coarse:px-4 pointer-coarse:py-2.5",
    on && "border-primary bg-accent text-accent-foreground",
  );
  const keyed = { "data-option": number, "aria-keyshortcuts": number?.toString() };
  const shown = (
    <>
      <span className="font-medium">
        {number && <Key number={number} />}
        {children}
      </span>
      {description && <span className="block text-xs text-muted-foreground">{description}</span>}
    </>
  );
  if (!kind) {
    return (
      <button
        type="button"
        {...keyed}
        aria-pressed={on || undefined}
        aria-disabled={settling || undefined} // which lets a key give it the focus
        className={cn(style, "transition-opacity aria-disabled:opacity-50")}
        onClick={(event) => isMeant(event, settling) && onAnswer()}
      >
        {shown}
      </button>
    );
  }
  return (
    <label className={style}>
      <input
        type={kind}
        name={name}
        {...keyed}
        className="sr-only"
        checked={on}
        onChange={onToggle}
        // No change is told of a radio button that is on; yet words alone are an answer, too.
        onClick={() => on && kind === "radio" && onToggle()}
      />
      {shown}
    </label>
  );
}

/** The second click of two may meet what the first one has brought here; a key presses what somebody has gone to. */
export function isMeant(click: MouseEvent, settling: boolean): boolean {
  return click.detail === 0 || (click.detail === 1 && !settling);
}

/** A key that does the same as what it stands on; where there is no keyboard it says nothing. */
export function Key({ number }: { number: number }) {
  return (
    <kbd aria-hidden className="mr-2 rounded border bg-muted px-1.5 font-mono text-xs text-muted-foreground pointer-coarse:hidden">
      {number}
    </kbd>
  );
}
