import { useRef, useState } from "react";
import { toastError } from "@/components/ui/toast";
import { useT } from "@/lib/i18n";

/** Whether something is being done, and a way to do it: one thing at a time, and of what fails people are told. */
export function useDoing(): [boolean, (what: () => Promise<void>) => Promise<void>] {
  const t = useT();
  const [busy, setBusy] = useState(false);
  const running = useRef(false);
  const doing = async (what: () => Promise<void>) => {
    if (running.current) return; // two clicks may come before the page is drawn again
    running.current = true;
    setBusy(true);
    try {
      await what();
    } catch (error) {
      toastError(error, t("unreachable"));
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return [busy, doing];
}
