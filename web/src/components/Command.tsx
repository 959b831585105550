import { Copy } from "lucide-react";
import { Fragment } from "react";
import { Button } from "@/components/ui/button";
import { useCopy } from "@/lib/copy";
import { useT } from "@/lib/i18n";

/** A command to type elsewhere, and a button that copies it. Lines break between its words, not at their dashes. */
export function Command({ text }: { text: string }) {
  const t = useT();
  const copy = useCopy();
  return (
    <span className="flex max-w-full items-center gap-1 rounded-lg border bg-muted py-1 pr-1 pl-3 text-left">
      <code className="min-w-0 flex-1 font-mono text-[13px] text-foreground select-all">
        {text.split(" ").map((word, index) => (
          <Fragment key={index}>
            {index > 0 && " "}
            <span className="inline-block max-w-full [overflow-wrap:anywhere]">{word}</span>
          </Fragment>
        ))}
      </code>
      <Button variant="ghost" size="icon" aria-label={`${t("copy")}: ${text}`} title={t("copy")} onClick={() => void copy(text)}>
        <Copy />
      </Button>
    </span>
  );
}
