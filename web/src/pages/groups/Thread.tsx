import { MessagesSquare } from "lucide-react";
import { useT } from "@/lib/i18n";
import { href } from "@/lib/router";
import type { Message } from "@/pages/groups/types";

interface Props {
  chat: string;
  message: Message;
  /** Where the thread began, if that is on the page. */
  root: Message | undefined;
  jump: (id: string) => void;
}

/** Says that a message belongs to a thread, and leads to where that began. */
export function Thread({ chat, message, root, jump }: Props) {
  const t = useT();
  const id = message.root ?? root?.id;
  // Where it answers that very message, the quote below says which one it is.
  const text =
    root && message.reply_to !== id
      ? t("threadOf", { name: root.name, text: root.recalled ? t("recalled") : root.text })
      : t("inThread");
  const look = "mb-1 flex max-w-full items-center gap-1.5 text-xs font-medium text-primary";
  const shown = (
    <>
      <MessagesSquare className="size-3.5 shrink-0" aria-hidden />
      <span className="truncate">{text}</span>
    </>
  );
  if (!id || id === message.id) {
    return (
      <p data-thread className={look}>
        {shown}
      </p>
    );
  }
  return (
    <a
      data-thread
      href={href("groups", chat, id)}
      onClick={(event) => {
        if (!root) return; // the address loads what comes before
        event.preventDefault();
        jump(id);
      }}
      className={`${look} underline-offset-2 hover:underline`}
    >
      {shown}
    </a>
  );
}

/** Whether a message has to say of which thread it is: a reply alone leads to where it began by itself. */
export function saysThread(message: Message, before: Message | undefined): boolean {
  if (!message.thread || message.thread === before?.thread) return false;
  return message.thread !== message.reply_to;
}

/** The first messages on the page of each thread, for those that do not say where it began. */
export function firstOfThreads(messages: readonly Message[]): ReadonlyMap<string, Message> {
  const first = new Map<string, Message>();
  for (const message of messages) if (message.thread && !first.has(message.thread)) first.set(message.thread, message);
  return first;
}
