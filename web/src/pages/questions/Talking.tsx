import { CheckCheck, Clock, FileText, Hourglass } from "lucide-react";
import { Avatar, Time, useNow, useSpan } from "@/components/common";
import { Log } from "@/components/Log";
import { Markdown } from "@/components/Markdown";
import { Back, Bar } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Card } from "@/components/ui/card";
import type { WireContent } from "@/lib/assistant/socket";
import { type Item, type Talk, isOpen } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import { cn } from "@/lib/utils";
import { Reply } from "@/pages/questions/Reply";
import { Unasked } from "@/pages/questions/Unasked";

export function Talking({ talk, open }: { talk: Talk; open: boolean }) {
  const t = useT();
  const model = talk.items.findLast((item) => item.model)?.model;
  return (
    <>
      <Bar>
        <Back to={href("questions")} />
        <Avatar name={talk.agent || talk.project} bot small />
        <div className="min-w-0 flex-1">
          <h2 className="truncate text-sm font-semibold">{talk.agent || t("agent")}</h2>
          <p className="truncate text-xs text-muted-foreground">
            {talk.project}
            {model && ` · ${model}`}
          </p>
        </div>
        {talk.waiting > 0 && <Badge variant="solid">{t("waitingCount", { n: talk.waiting })}</Badge>}
        {!open && <Badge variant="warning">{t("connecting")}</Badge>}
      </Bar>
      <Log label={t("questions")}>
        {talk.items.map((item) =>
          item.kind === "message" ? <Written key={item.id} item={item} /> : <Asked key={item.id} item={item} open={open} />,
        )}
      </Log>
      <Unasked talk={talk} />
    </>
  );
}

function Asked({ item, open }: { item: Item; open: boolean }) {
  const t = useT();
  const waiting = isOpen(item);
  return (
    <article className="flex flex-col gap-2.5" data-state={item.state}>
      <Card className={cn("max-w-[42rem] rounded-tl-md", waiting && "border-primary/60 shadow-sm")}>
        <header className="flex flex-wrap items-center gap-2 px-4 pt-2.5 text-xs text-muted-foreground">
          <Badge variant={item.kind === "report" ? "default" : "accent"}>
            {t(item.kind === "report" ? "report" : "question")}
          </Badge>
          <Time ms={item.asked} />
          {item.client && <span>{item.client}</span>}
          {waiting && <CountDown item={item} />}
        </header>
        <div className="px-4 pt-1.5 pb-3">
          <Markdown text={item.text} />
        </div>
        {waiting && <Reply item={item} disabled={!open} />}
      </Card>
      <Outcome item={item} />
    </article>
  );
}

function CountDown({ item }: { item: Item }) {
  const t = useT();
  const span = useSpan();
  const now = useNow();
  const left = (item.asked + item.timeout * 1000 - now) / 1000;
  return (
    <Badge variant={left < 60 ? "warning" : "outline"} className="ml-auto tabular-nums">
      <Clock aria-hidden />
      {t("left", { span: span(Math.max(0, left)) })}
    </Badge>
  );
}

function Outcome({ item }: { item: Item }) {
  const t = useT();
  if (item.state === "answered") {
    return (
      <div className="ml-auto flex max-w-[min(36rem,90%)] flex-col items-end gap-1">
        <div className="rounded-2xl rounded-tr-md bg-accent px-3.5 py-2 text-accent-foreground">
          <Contents contents={item.contents} />
        </div>
        <p className="flex items-center gap-1.5 text-xs text-muted-foreground">
          <CheckCheck className="size-3.5 text-positive" aria-hidden />
          {item.by ? t("answeredBy", { name: item.by }) : t("answered")} <Time ms={item.ended} />
        </p>
      </div>
    );
  }
  const words = { timeout: "timedOut", cancelled: "cancelledWhy", withdrawn: "withdrawnWhy" } as const;
  const key = words[item.state as keyof typeof words];
  if (!key) return null;
  return (
    <p className="flex items-center gap-1.5 text-xs text-muted-foreground italic">
      <Hourglass className="size-3.5" aria-hidden />
      {t(key)}
    </p>
  );
}

function Written({ item }: { item: Item }) {
  const t = useT();
  return (
    <article className="ml-auto flex max-w-[min(36rem,90%)] flex-col items-end gap-1">
      <div className="rounded-2xl rounded-tr-md bg-accent px-3.5 py-2 text-accent-foreground">
        <Markdown text={item.text} />
        <Contents contents={item.contents} />
      </div>
      <p className="flex items-center gap-1.5 text-xs text-muted-foreground">
        {item.by && <span>{item.by}</span>}
        <Time ms={item.asked} />
        <Badge variant={item.state === "picked_up" ? "positive" : "default"}>
          {t(item.state === "picked_up" ? "pickedUp" : "notPickedUp")}
        </Badge>
      </p>
    </article>
  );
}

/** Pages send a name as a part of a URI, other programs as it is. */
function fileName(uri: string): string {
  const name = uri.split("/").at(-1) ?? "";
  try {
    return uri.includes("://") ? decodeURIComponent(name) : name;
  } catch {
    return name;
  }
}

function Contents({ contents }: { contents: readonly WireContent[] }) {
  return (
    <>
      {contents.map((each, index) =>
        each.image ? (
          <img
            key={index}
            alt=""
            src={`data:${each.image.mimeType};base64,${each.image.data}`}
            className="mt-1 max-h-72 rounded-md"
          />
        ) : each.embeddedResource ? (
          <p key={index} className="flex items-center gap-1.5 text-sm">
            <FileText className="size-4" aria-hidden />
            {fileName(each.embeddedResource.uri)}
          </p>
        ) : each.text ? (
          <Markdown key={index} text={each.text.text} />
        ) : null,
      )}
    </>
  );
}
