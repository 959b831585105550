import type { ReactNode } from "react";
import { useEndInSight } from "@/lib/end";

/** What was said, the newest at the end, which stays in sight. */
export function Log({ label, children }: { label: string; children: ReactNode }) {
  const { frame, onScroll } = useEndInSight();
  return (
    <div
      ref={frame}
      tabIndex={0}
      role="log"
      aria-label={label}
      className="min-h-0 flex-1 overflow-y-auto overscroll-contain"
      onScroll={onScroll}
    >
      <div className="mx-auto flex max-w-3xl flex-col gap-4 p-4">{children}</div>
    </div>
  );
}
