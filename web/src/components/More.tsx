import { Button } from "@/components/ui/button";
import { useT } from "@/lib/i18n";

/** The hub counts no further. */
const COUNTED = 1000;

/** The end of a list that does not hold all: how many more there are, and a button where they can be shown here. */
export function More({ count, show }: { count: number | undefined; show?: (() => void) | undefined }) {
  const t = useT();
  if (!count) return null;
  return (
    <p className="flex items-center justify-center gap-3 px-4 py-3 text-xs text-muted-foreground">
      {t(count < COUNTED ? "more" : "atLeast", { n: count })}
      {show && (
        <Button size="sm" variant="outline" onClick={show}>
          {t("showMore")}
        </Button>
      )}
    </p>
  );
}
