import { useState } from "react";
import { Markdown } from "@/components/Markdown";
import { Button } from "@/components/ui/button";
import { useT } from "@/lib/i18n";

const MOST_LINES = 40;
const MOST_CHARACTERS = 5000;

interface Props {
  text: string;
  /** Whether all of it is shown without being asked for. */
  whole: boolean;
}

/** A text of which, where it is very long, the beginning is shown, and all of it on demand. */
export function Folded({ text, whole }: Props) {
  const t = useT();
  const [open, setOpen] = useState(false);
  const beginning = text.split("\n").slice(0, MOST_LINES).join("\n").slice(0, MOST_CHARACTERS);
  if (whole || beginning.length === text.length) return <Markdown text={text} />;
  return (
    <>
      <Markdown text={open ? text : `${beginning} …`} />
      <Button
        data-unfold
        variant="outline"
        size="sm"
        className="mt-2"
        aria-expanded={open}
        onClick={(event) => {
          event.currentTarget.focus(); // not every browser does so; what is read stays in place as long as it has the focus
          setOpen(!open);
        }}
      >
        {open ? t("showBeginning") : t("showAll", { n: text.length })}
      </Button>
    </>
  );
}
