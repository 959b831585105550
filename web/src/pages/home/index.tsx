import { useEffect, useState } from "react";
import { Loading } from "@/components/common";
import { waitingOf } from "@/lib/assistant/items";
import { useAssistant } from "@/lib/assistant/store";
import { href } from "@/lib/router";
import type { AnyPage } from "@/pages";
import { useFilled } from "@/pages/home/filled";
import { Start } from "@/pages/home/Start";

/** Milliseconds after which the page opens without knowing what is asked. */
const PATIENCE = 2000;

/** #/: opens questions that wait, else what there is; while there is nothing, it says what can be started. */
export function Home({ pages }: { pages: readonly AnyPage[] }) {
  const { items, known, refused } = useAssistant();
  const late = useLate();
  const names = pages.map((page) => page.name);
  const filled = useFilled(pages);
  const isSure = known || late || refused !== "" || !names.includes("questions");
  const asked = items.size > 0 && filled !== "groups" ? "questions" : filled;
  const found = isSure && filled !== undefined ? asked : undefined;
  const only = names.length === 1 ? names[0] : undefined;
  const to = waitingOf(items).length ? "questions" : (only ?? found);
  useEffect(() => {
    if (to) location.replace(href(to));
  }, [to]);
  return to === "" ? <Start pages={names} /> : <Loading />;
}

function useLate(): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE);
    return () => clearTimeout(timer);
  }, []);
  return late;
}
