import type { ReactNode } from "react";
import { Prose } from "@/components/common";
import { Command } from "@/components/Command";
import { Card } from "@/components/ui/card";
import { useT } from "@/lib/i18n";
import type { AnyPage } from "@/pages";
import { hasLine } from "@/pages/lines";

/** What can be started, and with which commands, of what has a page here; first where people are waited for. */
export function Start({ pages }: { pages: readonly AnyPage[] }) {
  const t = useT();
  const inOrder = [...pages.filter(hasLine), ...pages.filter((page) => !hasLine(page))];
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex max-w-2xl flex-col gap-4 p-4 md:py-10">
        <h1 className="text-xl font-semibold">{t("startTitle")}</h1>
        <p className="text-sm text-muted-foreground">
          <Prose text={t("startHint")} />
        </p>
        {inOrder.map(
          ({ name, icon, start }) =>
            start && (
              <Door key={name} icon={icon} title={t(start.title)}>
                {start.steps.map(({ text, command }) => (
                  <Step key={text} text={t(text)} command={command} />
                ))}
                {start.more && (
                  <p className="text-[13px] text-muted-foreground">
                    <Prose text={t(start.more)} />
                  </p>
                )}
              </Door>
            ),
        )}
      </div>
    </div>
  );
}

function Door({ icon, title, children }: { icon: ReactNode; title: string; children: ReactNode }) {
  return (
    <Card className="flex flex-col gap-3 p-4">
      <h2 className="flex items-center gap-2 font-semibold [&_svg]:size-5 [&_svg]:text-primary">
        {icon}
        {title}
      </h2>
      {children}
    </Card>
  );
}

function Step({ text, command }: { text: string; command: string }) {
  return (
    <div className="flex flex-col gap-1.5">
      <p className="text-sm">{text}</p>
      <Command text={command} />
    </div>
  );
}
