import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { Button } from "@/components/ui/button";
import { toast } from "@/components/ui/toast";
import { copy } from "@/lib/clipboard";
import { useT } from "@/lib/i18n";
import { Watched, useWatched } from "@/lib/watched";

type Highlit = (code: string, language: string) => ReactNode;

const COPIED_FOR = 1500;
const highlit = new Watched<Highlit | undefined>(undefined);
let asked = false;

/** Code with its colours, where its language is known, and a button that copies it. */
export function Code({ code, language }: { code: string; language: string }) {
  const colour = useWatched(highlit);
  useEffect(() => {
    if (language) load();
  }, [language]);
  const coloured = useMemo(() => (language ? colour?.(code, language) : undefined), [colour, code, language]);
  return (
    <div className="group/code relative">
      <pre tabIndex={0}>
        <code>{coloured ?? code}</code>
      </pre>
      <CopyButton code={code} />
    </div>
  );
}

function CopyButton({ code }: { code: string }) {
  const t = useT();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_FOR);
    return () => clearTimeout(timer);
  }, [copied]);
  const press = async () => {
    if (await copy(code)) setCopied(true);
    else toast(t("notCopied"), { bad: true });
  };
  return (
    <Button
      variant="outline"
      size="icon"
      aria-label={t("copyCode")}
      title={t(copied ? "copied" : "copyCode")}
      onClick={() => void press()}
      className="absolute top-1.5 right-1.5 size-7 opacity-0 group-hover/code:opacity-100 focus-visible:opacity-100 pointer-coarse:opacity-100"
    >
      {copied ? <Check /> : <Copy />}
      <span role="status" className="sr-only">
        {copied && t("copied")}
      </span>
    </Button>
  );
}

/** Once; where it cannot be had, code stays without colours until the next that comes. */
function load(): void {
  if (asked) return;
  asked = true;
  import("@/lib/highlighting").then(
    (found) => highlit.set(found.highlit),
    () => {
      asked = false;
    },
  );
}
