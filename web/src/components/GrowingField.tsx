import type { ComponentProps } from "react";
import { Textarea } from "@/components/ui/input";
import { isSend } from "@/lib/keys";
import { cn } from "@/lib/utils";

interface Props extends Omit<ComponentProps<"textarea">, "onChange"> {
  label: string;
  onText: (text: string) => void;
  onSend: () => void;
}

/** A field of one line that grows with its text; Ctrl+Enter sends. */
export function GrowingField({ label, onText, onSend, onKeyDown, className, ...props }: Props) {
  return (
    <Textarea
      data-write
      rows={1}
      aria-label={label}
      placeholder={label}
      className={cn("max-h-48 min-h-10 flex-1 field-sizing-content supports-[field-sizing:content]:resize-none", className)}
      onChange={(event) => onText(event.target.value)}
      onKeyDown={(event) => {
        if (isSend(event)) onSend();
        onKeyDown?.(event);
      }}
      {...props}
    />
  );
}
