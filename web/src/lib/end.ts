import { type RefObject, useEffect, useRef } from "react";

/** How far from its end, in pixels, somebody still reads the end of a box. */
const NEAR = 48;

interface EndInSight {
  frame: RefObject<HTMLDivElement | null>;
  /** Whether the end is to stay in sight. */
  atEnd: RefObject<boolean>;
  onScroll: () => void;
}

/**
 * Keeps the end of a box in sight while what is in it grows, until somebody scrolls up, writes in it or unfolds a text of
 * it. The box has one child, in which everything is.
 */
export function useEndInSight(): EndInSight {
  const frame = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const top = useRef(0);
  useEffect(() => {
    const box = frame.current;
    if (!box) return;
    const grown = new ResizeObserver(() => {
      if (atEnd.current && !box.querySelector("textarea:focus, [data-unfold]:focus")) box.scrollTop = box.scrollHeight;
    });
    grown.observe(box);
    if (box.firstElementChild) grown.observe(box.firstElementChild);
    return () => grown.disconnect();
  }, []);
  const onScroll = () => {
    const box = frame.current;
    if (!box) return;
    // Only who scrolls up leaves the end: what is told of now may have happened before the box grew.
    const up = box.scrollTop < top.current;
    top.current = box.scrollTop;
    if (box.scrollHeight - box.scrollTop - box.clientHeight < NEAR) atEnd.current = true;
    else if (up) atEnd.current = false;
  };
  return { frame, atEnd, onScroll };
}
