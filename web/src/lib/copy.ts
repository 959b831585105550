import { toast } from "@/components/ui/toast";
import { copy } from "@/lib/clipboard";
import { useT } from "@/lib/i18n";

/** Puts a text on the clipboard, and says whether the browser let that be done. */
export function useCopy(): (text: string) => Promise<void> {
  const t = useT();
  return async (text) => {
    if (await copy(text)) toast(t("copied"));
    else toast(t("notCopied"), { bad: true });
  };
}
