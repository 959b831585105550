import { X } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Button } from "@/components/ui/button";
import { useT } from "@/lib/i18n";

/**
 * The browser's own dialog: it keeps the focus inside and closes with Escape. It begins in the field that has
 * `data-first`; React's `autoFocus` comes too early, while the dialog is not shown.
 */
export function Dialog(props: { open: boolean; title: string; onClose: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  const t = useT();
  useEffect(() => {
    const dialog = element.current;
    if (props.open && dialog && !dialog.open) {
      dialog.showModal();
      dialog.querySelector<HTMLElement>("[data-first]")?.focus();
    }
    if (!props.open && dialog?.open) dialog.close();
  }, [props.open]);
  return (
    <dialog
      ref={element}
      aria-label={props.title}
      onClose={props.onClose}
      onMouseDown={(event) => event.target === element.current && props.onClose()}
      className="m-auto w-[min(40rem,calc(100vw-1.5rem))] max-h-[90dvh] rounded-xl border bg-surface p-0 text-foreground shadow-xl"
    >
      {props.open && (
        <div className="flex max-h-[90dvh] flex-col">
          <header className="flex items-center justify-between border-b px-4 py-2.5">
            <h2 className="font-semibold">{props.title}</h2>
            <Button variant="ghost" size="icon" aria-label={t("close")} onClick={props.onClose}>
              <X />
            </Button>
          </header>
          <div className="overflow-y-auto p-4">{props.children}</div>
        </div>
      )}
    </dialog>
  );
}
