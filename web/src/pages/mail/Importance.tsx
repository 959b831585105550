import { Badge } from "@/components/ui/badge";
import { useT } from "@/lib/i18n";

export function Importance({ level }: { level: string }) {
  const t = useT();
  if (level === "urgent") return <Badge variant="destructive">{t("urgent")}</Badge>;
  if (level === "high") return <Badge variant="warning">{t("high")}</Badge>;
  return null;
}
