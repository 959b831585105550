import { MailPlus } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { Find } from "@/components/Find";
import { Bar } from "@/components/Split";
import { Tabs } from "@/components/Tabs";
import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/input";
import { useT } from "@/lib/i18n";

/** The list of a page with letters: whose they are, a button to write one, a field to find some, and its parts. */
export function LetterList(props: {
  title: string;
  whose: { label: string; current: string; all: { name: string; shown?: string }[]; choose: (name: string) => void };
  /** Missing where nobody may write. */
  write: (() => void) | undefined;
  onFind: (query: string) => void;
  tabs: ComponentProps<typeof Tabs>;
  children: ReactNode;
}) {
  const t = useT();
  const { whose, write } = props;
  return (
    <>
      <Bar>
        <h1 className="sr-only">{props.title}</h1>
        <Select
          aria-label={whose.label}
          value={whose.current}
          className="min-w-0 flex-1"
          onChange={(event) => whose.choose(event.target.value)}
        >
          {whose.all.map((each) => (
            <option key={each.name} value={each.name}>
              {each.shown ?? each.name}
            </option>
          ))}
        </Select>
        <Button aria-label={t("write")} title={`${t("write")} (c)`} disabled={!write} onClick={write}>
          <MailPlus />
        </Button>
      </Bar>
      <div className="flex shrink-0 gap-2 border-b px-4 py-2">
        <Find label={t("searchMail")} onFind={props.onFind} />
      </div>
      <Tabs {...props.tabs} />
      <div className="min-h-0 flex-1 overflow-y-auto">{props.children}</div>
    </>
  );
}
