import type { ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { useT } from "@/lib/i18n";

/** Asks, in a dialog, before something is done that the page has no way to undo. `children` are the buttons that do it. */
export function Sure(props: { question: string; no: () => void; children: ReactNode }) {
  const t = useT();
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm [overflow-wrap:anywhere]">{props.question}</p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button variant="outline" data-first onClick={props.no}>
          {t("cancel")}
        </Button>
        {props.children}
      </div>
    </div>
  );
}
