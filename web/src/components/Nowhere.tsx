import { MapPinOff } from "lucide-react";
import { Empty } from "@/components/common";
import { Button } from "@/components/ui/button";
import { useT } from "@/lib/i18n";

/** What there is at an address that leads nowhere, with a way back. */
export function Nowhere({ to, why }: { to: string; why?: string | undefined }) {
  const t = useT();
  return (
    <Empty icon={<MapPinOff />} title={t("nowhere")} text={why ?? t("nowhereHint")}>
      <Button variant="outline" size="sm" asChild>
        <a href={to}>{t("back")}</a>
      </Button>
    </Empty>
  );
}
