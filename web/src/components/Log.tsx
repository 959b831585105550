import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { Button } from "@/components/ui/button";
import { useEndInSight } from "@/lib/end";
import { useT } from "@/lib/i18n";
import { useAgain } from "@/lib/router";

interface Props {
  label: string;
  children: ReactNode;
  /** What the first thing said is known by. */
  first?: string | undefined;
  /** Loads what was said before that, where there is more. */
  older?: (() => void) | undefined;
  /** What is shown and marked for a moment, by the `data-item` of something that is there. */
  shown?: string | undefined;
}

function isInside(part: HTMLElement, box: HTMLElement | null): boolean {
  const [inner, outer] = [part.getBoundingClientRect(), box?.getBoundingClientRect()];
  return outer !== undefined && inner.top >= outer.top && inner.bottom <= outer.bottom;
}

/** Milliseconds. */
const MARKED = 2500;

/** What was said, the newest at the end, which stays in sight. Earlier things leave in place what is being read. */
export function Log({ label, children, first, older, shown }: Props) {
  const t = useT();
  const { frame, atEnd, onScroll } = useEndInSight();
  const height = useRef(0);
  const before = useRef(first);
  const again = useAgain();
  useLayoutEffect(() => {
    const box = frame.current;
    if (!box) return;
    if (before.current !== first && !atEnd.current) box.scrollTop += box.scrollHeight - height.current;
    before.current = first;
    height.current = box.scrollHeight;
  });
  useEffect(() => {
    const found = shown && frame.current?.querySelector<HTMLElement>(`[data-item="${CSS.escape(shown)}"]`);
    if (!found) return;
    atEnd.current = false;
    if (!isInside(found, frame.current)) found.scrollIntoView({ block: "start" });
    found.dataset.found = "true";
    const unmark = () => delete found.dataset.found;
    const timer = setTimeout(unmark, MARKED);
    return () => {
      clearTimeout(timer);
      unmark();
    };
  }, [shown, again, frame, atEnd]);
  return (
    <div
      ref={frame}
      tabIndex={0}
      role="log"
      aria-label={label}
      className="min-h-0 flex-1 overflow-y-auto overscroll-contain focus-visible:-outline-offset-2 [overflow-anchor:none]"
      onScroll={onScroll}
    >
      <div className="mx-auto flex max-w-3xl flex-col gap-4 p-4">
        {older && (
          <Button
            variant="outline"
            size="sm"
            className="self-center"
            onClick={() => {
              atEnd.current = false;
              older();
            }}
          >
            {t("loadOlderTalks")}
          </Button>
        )}
        {children}
      </div>
    </div>
  );
}
