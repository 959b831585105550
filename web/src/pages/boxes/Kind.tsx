import { Badge } from "@/components/ui/badge";

export function Kind({ type }: { type: string | undefined }) {
  if (!type) return null;
  return <Badge variant={type === "URGENT" ? "destructive" : type === "BR" ? "warning" : "default"}>{type}</Badge>;
}
