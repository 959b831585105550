// Tells a person who looks elsewhere that an agent asks: a notice of the system, a sound, a number in the title.

const KEY = "nanobot-transcript.notify";

let chosen = false;

/** Whether a question is heard, and where the browser lets it be seen, too. */
export function isNotifying(): boolean {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return chosen;
  }
}

/** Turns notices and sound on or off; what there is from now on. */
export async function wantNotify(on: boolean): Promise<"off" | "sound" | "all"> {
  chosen = on;
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // It lasts until the page is left.
  }
  if (!on) return "off";
  if ("Notification" in window && Notification.permission === "default") await Notification.requestPermission();
  return mayBeSeen() ? "all" : "sound";
}

function mayBeSeen(): boolean {
  return "Notification" in window && Notification.permission === "granted" && !/Android/.test(navigator.userAgent);
}

export function notify(title: string, text: string, opened: () => void): void {
  if (!isNotifying()) return;
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

function beep(): void {
  const context = new AudioContext();
  const gain = context.createGain();
  gain.gain.setValueAtTime(0.08, context.currentTime);
  gain.gain.exponentialRampToValueAtTime(0.0001, context.currentTime + 0.5);
  const tone = context.createOscillator();
  tone.frequency.value = 660;
  tone.connect(gain).connect(context.destination);
  tone.onended = () => void context.close();
  tone.start();
  tone.stop(context.currentTime + 0.5);
}
