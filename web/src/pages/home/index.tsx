import { useEffect, useState } from "react";
import { Loading } from "@/components/common";
import { href } from "@/lib/router";
import type { AnyPage } from "@/pages";
import { useFilled } from "@/pages/home/filled";
import { Start } from "@/pages/home/Start";
import type { Lines } from "@/pages/lines";

/** Milliseconds after which a page opens without knowing what waits. */
const PATIENCE = 2000;

/**
 * #/: opens the page on which something waits for a person, else the first with something on it; while there is nothing
 * on any, it says what can be started.
 */
export function Home({ pages, lines }: { pages: readonly AnyPage[]; lines: Lines }) {
  const late = useLate();
  const listed = useFilled(pages);
  const lineOf = (page: AnyPage) => lines.get(page.name);
  const isSure = late || pages.map(lineOf).every((line) => !line || line.known || line.refused);
  const filled = pages.find((page) => page.name === listed || lineOf(page)?.count)?.name ?? "";
  const found = isSure && listed !== undefined ? filled : undefined;
  const only = pages.length === 1 ? pages[0]?.name : undefined;
  const to = pages.find((page) => lineOf(page)?.waiting)?.name ?? only ?? found;
  useEffect(() => {
    if (to) location.replace(href(to));
  }, [to]);
  return to === "" ? <Start pages={pages} /> : <Loading />;
}

function useLate(): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE);
    return () => clearTimeout(timer);
  }, []);
  return late;
}
