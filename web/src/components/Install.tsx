import { LogOut, MonitorSmartphone } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { useT } from "@/lib/i18n";
import { isApp, useOffer } from "@/lib/installing";
import { enterWith, token } from "@/lib/token";

/** The way from a page in the browser to an app of this device, or why there is none; in the app, the way out of it. */
export function Install() {
  const t = useT();
  const [open, setOpen] = useState(false);
  const install = useOffer();
  if (isApp()) {
    return token() ? (
      <Button variant="ghost" size="icon" aria-label={t("forgetToken")} title={t("forgetToken")} onClick={() => enterWith("")}>
        <LogOut />
      </Button>
    ) : null;
  }
  return (
    <>
      <Button variant="ghost" size="icon" aria-label={t("install")} title={t("install")} onClick={() => setOpen(true)}>
        <MonitorSmartphone />
      </Button>
      <Dialog open={open} title={t("install")} onClose={() => setOpen(false)}>
        <div className="flex flex-col items-start gap-3 text-sm">
          <p>{t("installed")}</p>
          {install ? (
            <Button
              onClick={() => {
                install();
                setOpen(false);
              }}
            >
              {t("installNow")}
            </Button>
          ) : (
            <p className="text-muted-foreground">{t(isSecureContext ? "installByMenu" : "installNeedsTls")}</p>
          )}
        </div>
      </Dialog>
    </>
  );
}
