import { useEffect, useState } from "react";
import { Loading } from "@/components/common";
import { waitingOf } from "@/lib/assistant/items";
import { useAssistant } from "@/lib/assistant/store";
import { href } from "@/lib/router";
import { useFilled } from "@/pages/home/filled";
import { Start } from "@/pages/home/Start";

/** Milliseconds after which the page opens without knowing what is asked. */
const PATIENCE = 2000;

/** #/: opens questions that wait, else what there is; while there is nothing, it says what can be started. */
export function Home({ pages }: { pages: readonly string[] }) {
  const { items, known, refused } = useAssistant();
  const late = useLate();
  const filled = useFilled(pages);
  const isSure = known || late || refused !== "" || !pages.includes("questions");
  const asked = items.size > 0 && filled !== "groups" ? "questions" : filled;
  const found = isSure && filled !== undefined ? asked : undefined;
  const only = pages.length === 1 ? pages[0] : undefined;
  const to = waitingOf(items).length ? "questions" : (only ?? found);
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
