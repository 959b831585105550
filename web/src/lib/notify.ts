// Tells a person who looks elsewhere that an agent asks: a notice of the system, a sound, a number in the title.

import { Watched, useWatched } from "@/lib/watched";

const KEY = "nanobot-transcript.notify";
/** Milliseconds after which a question is no news any more. */
const LATE = 2000;
/** To a browser a touch is one when it ends. */
const GESTURES = ["pointerdown", "pointerup", "keydown"];

interface Notifying {
  /** Whether a question is heard, and where the browser lets it be seen, too. */
  on: boolean;
  /** Whether the browser lets no sound through before somebody does something on the page. */
  silent: boolean;
  /** Whether somebody has said yes or no to that. */
  chosen: boolean;
}

const state = new Watched<Notifying>({ on: false, silent: false, chosen: false });
let sound: AudioContext | undefined;

/** What somebody chose before counts again. */
export function startNotifying(): void {
  const before = kept();
  turn(before === "on", before !== null);
}

/** Whether this browser has any way to tell of something. */
export function canNotify(): boolean {
  return "Notification" in window || "AudioContext" in window;
}

export function useNotifying(): Notifying {
  return useWatched(state);
}

/** Turns notices and sound on or off; what there is from now on. */
export async function wantNotify(on: boolean): Promise<"off" | "sound" | "all"> {
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // It lasts until the page is left.
  }
  turn(on, true);
  if (!on) return "off";
  if ("Notification" in window && Notification.permission === "default") await Notification.requestPermission();
  return mayBeSeen() ? "all" : "sound";
}

export function notify(title: string, text: string, opened: () => void): void {
  if (!state.get().on) return;
  beep();
  if (!mayBeSeen() || (!document.hidden && document.hasFocus())) return;
  try {
    const notice = new Notification(title, { body: text.slice(0, 200), tag: title });
    notice.onclick = () => {
      focus();
      opened();
      notice.close();
    };
  } catch {
    // Some browsers show notices for programs in the background alone; the sound was heard.
  }
}

function kept(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function mayBeSeen(): boolean {
  return "Notification" in window && Notification.permission === "granted" && !/Android/.test(navigator.userAgent);
}

/** Browsers let a page be heard from the first click or key on; the same context then goes on sounding. */
function turn(on: boolean, chosen: boolean): void {
  if (on && !sound) {
    sound = soundOf();
    for (const gesture of GESTURES) addEventListener(gesture, wake, true);
    wake();
  } else if (!on) {
    for (const gesture of GESTURES) removeEventListener(gesture, wake, true);
    void sound?.close();
    sound = undefined;
  }
  state.set({ on, silent: false, chosen });
  tell();
}

/** Nothing where the browser has no sound, or does not give it out. */
function soundOf(): AudioContext | undefined {
  try {
    const context = new AudioContext();
    context.onstatechange = tell;
    return context;
  } catch {
    return undefined; // Notices are seen all the same.
  }
}

function wake(): void {
  if (sound?.state !== "running") sound?.resume().catch(() => undefined);
}

function tell(): void {
  const silent = sound !== undefined && sound.state !== "running";
  if (silent !== state.get().silent) state.set({ ...state.get(), silent });
}

/** What the browser holds back until somebody comes back is not made up for. */
function beep(): void {
  const context = sound;
  const since = performance.now();
  context?.resume().then(
    () => performance.now() - since < LATE && play(context),
    () => undefined,
  );
}

function play(context: AudioContext): void {
  const gain = context.createGain();
  gain.gain.setValueAtTime(0.08, context.currentTime);
  gain.gain.exponentialRampToValueAtTime(0.0001, context.currentTime + 0.5);
  const tone = context.createOscillator();
  tone.frequency.value = 660;
  tone.connect(gain).connect(context.destination);
  tone.onended = () => gain.disconnect();
  tone.start();
  tone.stop(context.currentTime + 0.5);
}
