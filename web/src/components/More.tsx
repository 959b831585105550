import { Button } from "@/components/ui/button";
import type { Page, Pages } from "@/lib/data";
import { useT } from "@/lib/i18n";

/** The hub counts no further. */
const COUNTED = 1000;

/** The end of a list that does not hold all: how many more there are, and a button that shows them. */
export function More<T extends Page>({ of: { value, showMore } }: { of: Pages<T> }) {
  const t = useT();
  const count = value?.at(-1)?.more;
  if (!count) return null;
  return (
    <p className="flex items-center justify-center gap-3 px-4 py-3 text-xs text-muted-foreground">
      {t(count < COUNTED ? "more" : "atLeast", { n: count })}
      <Button size="sm" variant="outline" onClick={showMore}>
        {t("showMore")}
      </Button>
    </p>
  );
}
