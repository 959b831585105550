import { useEffect, useEffectEvent } from "react";

/** Lets the browser's Back close what lies over the page, as it closes the page itself otherwise. */
export function useBackCloses(open: boolean, close: () => void): void {
  const closed = useEffectEvent(close);
  useEffect(() => {
    if (!open) return;
    history.pushState({ over: true }, "");
    const back = () => closed();
    addEventListener("popstate", back);
    return () => {
      removeEventListener("popstate", back);
      if ((history.state as { over?: boolean } | null)?.over) history.back(); // it was closed in another way
    };
  }, [open]);
}
