import { toast } from "@/components/ui/toast";
import { useT } from "@/lib/i18n";

/** Puts a text on the clipboard, and says whether the browser let that be done. */
export function useCopy(): (text: string) => Promise<void> {
  const t = useT();
  return async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      toast(t("copied"));
    } catch {
      toast(t("notCopied"), { bad: true });
    }
  };
}
