import { Search } from "lucide-react";
import { useEffect, useState } from "react";
import { Input } from "@/components/ui/input";

/** A search field that waits until somebody stops typing. */
export function Find({ label, onFind }: { label: string; onFind: (query: string) => void }) {
  const [text, setText] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => onFind(text.trim()), 250);
    return () => clearTimeout(timer);
  }, [text, onFind]);
  return (
    <span className="relative flex-1">
      <Search className="pointer-events-none absolute top-2.5 left-2.5 size-4 text-muted-foreground" aria-hidden />
      <Input
        type="search"
        data-search
        value={text}
        aria-label={label}
        placeholder={label}
        className="pl-8.5"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            setText("");
            event.currentTarget.blur();
          }
        }}
      />
    </span>
  );
}
