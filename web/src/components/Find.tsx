import { Search } from "lucide-react";
import { useEffect, useState } from "react";
import { Input } from "@/components/ui/input";
import { entered } from "@/lib/entered";

/** A search field that waits until somebody stops typing, or presses Enter to get to the first hit. */
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
        onChange={(event) => {
          setText(event.target.value);
          entered.set(undefined);
        }}
        onBlur={() => entered.set(undefined)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.nativeEvent.isComposing || !text.trim()) return;
          onFind(text.trim());
          entered.set(text.trim());
        }}
      />
    </span>
  );
}
