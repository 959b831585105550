import { HandHelping, Mail, MessagesSquare } from "lucide-react";
import type { ReactNode } from "react";
import { Prose } from "@/components/common";
import { Command } from "@/components/Command";
import { Card } from "@/components/ui/card";
import { COMMANDS } from "@/lib/commands";
import { useT } from "@/lib/i18n";

/** What can be started, and with which commands, of what has a page here. */
export function Start({ pages }: { pages: readonly string[] }) {
  const t = useT();
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex max-w-2xl flex-col gap-4 p-4 md:py-10">
        <h1 className="text-xl font-semibold">{t("startTitle")}</h1>
        <p className="text-sm text-muted-foreground">
          <Prose text={t("startHint")} />
        </p>
        {pages.includes("questions") && (
          <Door icon={<HandHelping />} title={t("startQuestions")}>
            <Step text={t("startQuestionsHint")} command={COMMANDS.questions} />
            <p className="text-[13px] text-muted-foreground">
              <Prose text={t("startQuestionsMore")} />
            </p>
          </Door>
        )}
        {pages.includes("groups") && (
          <Door icon={<MessagesSquare />} title={t("startBots")}>
            <Step text={t("startBotsHint")} command={COMMANDS.nanobot} />
            <Step text={t("startAgentHint")} command={COMMANDS.agent} />
            <Step text={t("startDemoHint")} command={COMMANDS.demo} />
          </Door>
        )}
        {pages.includes("mail") && (
          <Door icon={<Mail />} title={t("startMail")}>
            <Step text={t("startMailHint")} command={COMMANDS.mail} />
          </Door>
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
