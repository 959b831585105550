import { Square, SquareCheck } from "lucide-react";
import { Markdown } from "@/components/Markdown";
import type { WireChoice } from "@/lib/assistant/socket";
import { useT } from "@/lib/i18n";
import { cn } from "@/lib/utils";

interface Props {
  choice: WireChoice;
  /** The text of the question, which often is that of its only choice, too. */
  asked: string;
  /** What the radio buttons of this choice have in common. */
  name: string;
  chosen: readonly string[];
  onChoose: (labels: string[]) => void;
}

/** What could be chosen, where it is over: the answer says what was. */
export function Offered({ choice }: { choice: WireChoice }) {
  const title = choice.header || choice.question;
  return (
    <ul className="flex flex-wrap gap-1.5 text-xs text-muted-foreground" aria-label={title.slice(0, 200) || undefined}>
      {choice.options.map((option, index) => (
        <li key={index} className="rounded-md border px-2 py-0.5 [overflow-wrap:anywhere]" title={option.description || undefined}>
          {option.label}
        </li>
      ))}
    </ul>
  );
}

/** The answers that an agent offers; one of them, or several where it said so. */
export function Choice({ choice, asked, name, chosen, onChoose }: Props) {
  const title = choice.question || choice.header;
  const t = useT();
  const toggle = (label: string) => {
    const labels = new Set(choice.multiple ? chosen : chosen.filter((each) => each === label));
    if (!labels.delete(label)) labels.add(label);
    const offered = new Set(choice.options.map((option) => option.label));
    onChoose([...offered].filter((each) => labels.has(each))); // in the agent's order
  };
  return (
    <fieldset className="min-w-0" aria-label={title.slice(0, 200) || undefined}>
      {title.trim() && title.trim() !== asked.trim() && (
        <Markdown text={title} className="mb-1.5 text-sm font-medium" />
      )}
      {choice.multiple && <p className="mb-1.5 text-xs text-muted-foreground">{t("chooseSeveral")}</p>}
      <div className="flex flex-wrap gap-2">
        {choice.options.map((option, index) => {
          const on = chosen.includes(option.label);
          return (
            <label
              key={index}
              className={cn(
                "relative max-w-full cursor-pointer rounded-lg border px-3 py-1.5 text-sm [overflow-wrap:anywhere] hover:bg-muted has-focus-visible:outline-2 has-focus-visible:outline-ring",
                on && "border-primary bg-accent text-accent-foreground",
              )}
            >
              <input
                type={choice.multiple ? "checkbox" : "radio"}
                name={name}
                className="sr-only"
                checked={on}
                onChange={() => toggle(option.label)}
                // No change is told of a radio button that is on; yet words alone are an answer, too.
                onClick={() => on && !choice.multiple && toggle(option.label)}
              />
              <span className="font-medium">
                {choice.multiple && (
                  <span aria-hidden className="mr-1.5 inline-flex align-[-2px] [&_svg]:size-4">
                    {on ? <SquareCheck /> : <Square />}
                  </span>
                )}
                {option.label}
              </span>
              {option.description && <span className="block text-xs text-muted-foreground">{option.description}</span>}
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}
