import { Badge } from "@/components/ui/badge";
import { isKey, useT } from "@/lib/i18n";

export function Kind({ type }: { type: string | undefined }) {
  const meaning = useMeaning();
  if (!type) return null;
  return (
    <Badge variant={type === "URGENT" ? "destructive" : type === "BR" ? "warning" : "default"} title={meaning(type)}>
      {type}
    </Badge>
  );
}

/** Kinds of mail to choose from; what stands for a word is followed by it. */
export function KindOptions({ types }: { types: readonly string[] }) {
  const meaning = useMeaning();
  return types.map((type) => {
    const words = meaning(type);
    return (
      <option key={type} value={type}>
        {words ? `${type} · ${words}` : type}
      </option>
    );
  });
}

/** What the kinds that are short for something stand for. */
function useMeaning(): (type: string) => string | undefined {
  const t = useT();
  return (type) => {
    const key = `type_${type}`;
    return isKey(key) ? t(key) : undefined;
  };
}
