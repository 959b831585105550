import { Bell } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { toast } from "@/components/ui/toast";
import { waitingOf } from "@/lib/assistant/items";
import { useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { canNotify, useNotifying, wantNotify } from "@/lib/notify";

/** Offers notices once there is something to be told of, until somebody has said yes or no. */
export function Offer() {
  const t = useT();
  const { chosen } = useNotifying();
  const waiting = waitingOf(useAssistant().items).length > 0;
  const [came, setCame] = useState(waiting);
  const turn = useTurning();
  if (waiting && !came) setCame(true);
  if (chosen || !came || !canNotify()) return null;
  return (
    <aside aria-label={t("notify")} className="flex shrink-0 items-center gap-2 border-b bg-accent px-4 py-1.5 text-sm text-accent-foreground">
      <Bell className="size-4 shrink-0" aria-hidden />
      <p className="min-w-0 flex-1">{t("notifyOffer")}</p>
      <Button size="sm" onClick={() => turn(true)}>
        {t("notifyYes")}
      </Button>
      <Button size="sm" variant="ghost" onClick={() => turn(false)}>
        {t("notifyNo")}
      </Button>
    </aside>
  );
}

/** Turns notices on or off, and says what there will be. */
export function useTurning(): (on: boolean) => void {
  const t = useT();
  return async (on) => {
    const outcome = await wantNotify(on);
    if (outcome !== "off") toast(t(outcome === "all" ? "notifyOn" : "notifySoundOnly"));
  };
}
