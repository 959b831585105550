// The page as an app of this device: whether it is one, and whether the browser offers to make it one.

import { Watched, useWatched } from "@/lib/watched";

/** What Chromium has and the types do not; other browsers install from their menus alone. */
interface Offer extends Event {
  prompt(): Promise<unknown>;
}

const offered = new Watched<Offer | undefined>(undefined);

/** Before the page is drawn: the browser says it once. */
export function startInstalling(): void {
  addEventListener("beforeinstallprompt", (event) => {
    event.preventDefault(); // it is asked when somebody wants it
    offered.set(event as Offer);
  });
  addEventListener("appinstalled", () => offered.set(undefined));
}

const APP = "nanobot-transcript.app";

/** Whether this is the installed page, in a window without a browser around it; also while that fills the screen. */
export function isApp(): boolean {
  const alone = matchMedia("(display-mode: standalone)").matches;
  try {
    if (alone) sessionStorage.setItem(APP, "1");
    return alone || sessionStorage.getItem(APP) === "1";
  } catch {
    return alone;
  }
}

/** What asks the browser to install the page, where it offers that. An offer is good for one question. */
export function useOffer(): (() => void) | undefined {
  const offer = useWatched(offered);
  if (!offer) return undefined;
  return () => {
    offered.set(undefined);
    void offer.prompt();
  };
}
