import { Component, type ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { useT } from "@/lib/i18n";

interface Props {
  /** What is shown in it: something else is tried anew. */
  at: string;
  children: ReactNode;
}

/** Keeps a fault of what is in it from taking the rest of the page away. */
export class Fence extends Component<Props, { at: string; fault: string }> {
  override state = { at: this.props.at, fault: "" };

  static getDerivedStateFromProps({ at }: Props, before: { at: string }): { at: string; fault: string } | null {
    return at === before.at ? null : { at, fault: "" };
  }

  static getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: String(error) };
  }

  override render() {
    const { fault } = this.state;
    return fault ? <Fault text={fault} again={() => this.setState({ fault: "" })} /> : this.props.children;
  }
}

function Fault({ text, again }: { text: string; again: () => void }) {
  const t = useT();
  return (
    <div role="alert" className="m-3 flex flex-col items-start gap-2 rounded-lg border border-destructive/50 p-3 text-sm">
      <p className="font-medium">{t("fault")}</p>
      <code className="text-xs text-muted-foreground [overflow-wrap:anywhere]">{text}</code>
      <Button variant="outline" size="sm" onClick={again}>
        {t("again")}
      </Button>
    </div>
  );
}
