// Tells a person who looks elsewhere that an agent asks: a notice of the system, a sound, a number in the title.

const KEY = "nanobot-transcript.notify";

export function canNotify(): boolean {
  return "Notification" in window;
}

export function mayNotify(): boolean {
  return canNotify() && Notification.permission === "granted" && wanted();
}

/** Whether notices are shown from now on. */
export async function wantNotify(on: boolean): Promise<boolean> {
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // It lasts until the page is left.
  }
  if (on && Notification.permission === "default") await Notification.requestPermission();
  return mayNotify();
}

export function notify(title: string, text: string, opened: () => void): void {
  if (!mayNotify()) return;
  beep();
  if (!document.hidden && document.hasFocus()) return;
  const notice = new Notification(title, { body: text.slice(0, 200), tag: title });
  notice.onclick = () => {
    focus();
    opened();
    notice.close();
  };
}

function wanted(): boolean {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false;
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
