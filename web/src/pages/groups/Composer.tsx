import { CircleCheck, Clock, CornerUpLeft, SendHorizontal, TriangleAlert, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Prose } from "@/components/common";
import { GrowingField } from "@/components/GrowingField";
import { Button } from "@/components/ui/button";
import { Label, Select } from "@/components/ui/input";
import { get, post } from "@/lib/api";
import { useDoing } from "@/lib/doing";
import { useDraft } from "@/lib/drafts";
import { useNews } from "@/lib/events";
import { listed, useLanguage, useT } from "@/lib/i18n";
import { mentioned, speakerFor } from "@/pages/groups/mentions";
import { writtenHere } from "@/pages/groups/posted";
import type { Member, Message, Post } from "@/pages/groups/types";

interface Props {
  chat: string;
  bots: Member[];
  /** When each of them, by name, was last heard of. */
  signs: ReadonlyMap<string, number>;
  answering: Message | undefined;
  onDone: () => void;
  onSent: () => void;
}

/** The name of the draft of what is said in a group. */
export function draftOf(chat: string): string {
  return `groups ${chat}`;
}

/** Writes into the group: through the outbox, by a bot that sits there. */
export function Composer({ chat, bots, signs, answering, onDone, onSent }: Props) {
  const t = useT();
  const { draft, key, change, done } = useDraft(draftOf(chat), { text: "" });
  const { text } = draft;
  const speaker = useDraft(`${draftOf(chat)} by`, { agent: "" }); // stays when something was sent
  const { agent } = speaker.draft;
  const [posts, setPosts] = useState<Post[]>([]);
  const [sending, doing] = useDoing();
  const field = useRef<HTMLTextAreaElement>(null);

  const look = async () => {
    const waiting = posts.filter((each) => each.state === "queued");
    if (!waiting.length) return;
    try {
      const found = await get<{ posts: Record<string, Post> }>("/api/groups/posts", {
        ids: waiting.map((each) => each.id).join(","),
      });
      for (const each of Object.values(found.posts)) if (each.message_id) writtenHere(each.message_id);
      setPosts((before) => before.map((each) => ({ ...each, ...found.posts[each.id] })));
    } catch {
      // The next news asks again.
    }
  };
  useNews((news) => {
    if (news.room === "*" || (news.room === "groups" && news.what === "posts")) void look();
  });
  useEffect(() => {
    if (!posts.some((each) => each.state === "sent")) return;
    const timer = setTimeout(() => setPosts((before) => before.filter((each) => each.state !== "sent")), 4000);
    return () => clearTimeout(timer);
  }, [posts]);

  const calls = mentioned(text, bots);
  const by = agent || (calls.length ? (speakerFor(calls, bots, signs)?.name ?? "") : "");

  const send = async () => {
    const wanted = { chat, text, agent: by, reply_to: answering?.id ?? null, key };
    const made = await post<Post>("/api/groups/post", wanted);
    setPosts((before) => [...before.slice(-4), { ...made, text, agent: by }]);
    done();
    onSent();
  };
  const sendReady = () => {
    if (text.trim()) void doing(send).finally(() => field.current?.focus());
  };

  return (
    <footer className="shrink-0 border-t bg-surface px-3 py-2.5 sm:px-5">
      <div className="mx-auto flex max-w-4xl flex-col gap-2">
        {posts.map((each) => (
          <p key={each.id} role="status" className="flex items-center gap-2 text-xs text-muted-foreground">
            {each.state === "sent" ? (
              <CircleCheck className="size-4 text-positive" aria-hidden />
            ) : each.state === "queued" ? (
              <Clock className="size-4" aria-hidden />
            ) : (
              <TriangleAlert className="size-4 text-destructive" aria-hidden />
            )}
            <span className="max-w-[40%] truncate text-foreground">{each.text}</span>
            <span>
              {each.state === "queued" && each.agent
                ? t("post_queuedFor", { name: each.agent })
                : t(`post_${each.state}`)}
            </span>
            {each.error && <span className="truncate">{each.error}</span>}
          </p>
        ))}
        {answering && (
          <p className="flex items-center gap-2 rounded-md bg-muted px-2.5 py-1.5 text-xs">
            <CornerUpLeft className="size-3.5 shrink-0" aria-hidden />
            <span className="min-w-0 flex-1 truncate">
              {t("replyTo", { name: answering.name })}: {answering.text}
            </span>
            <button type="button" aria-label={t("cancel")} onClick={onDone}>
              <X className="size-4" />
            </button>
          </p>
        )}
        <div className="flex items-end gap-2">
          <GrowingField
            ref={field}
            label={t("writeGroup")}
            value={text}
            onText={(written) => change({ text: written })}
            onSend={sendReady}
            onKeyDown={(event) => {
              if (event.key === "Escape") {
                event.currentTarget.blur();
                onDone();
              }
            }}
          />
          <Button
            aria-label={t("send")}
            title="Ctrl+Enter"
            className="h-10"
            disabled={!text.trim() || sending}
            onClick={sendReady}
          >
            <SendHorizontal />
            <span className="max-sm:hidden">{t("send")}</span>
          </Button>
        </div>
        {calls.length > 0 && <Heard calls={calls} by={by || (bots.length === 1 ? (bots[0]?.name ?? "") : "")} />}
        <div className="@container flex items-center gap-2">
          <Label htmlFor="through" className="shrink-0 text-xs">
            {t("through")}
          </Label>
          <Select
            id="through"
            value={agent}
            className="h-7 min-w-0 px-1.5 text-xs"
            onChange={(event) => speaker.change({ agent: event.target.value })}
          >
            <option value="">{t("anyBot")}</option>
            {bots.map((bot) => (
              <option key={bot.sender} value={bot.name}>
                {bot.name}
              </option>
            ))}
          </Select>
          <span className="ml-auto hidden text-xs whitespace-nowrap text-muted-foreground @md:block">Ctrl + Enter</span>
        </div>
      </div>
    </footer>
  );
}

/** What becomes of a mention: a bot says the text, so that other bots hear it from a bot. Empty ``by``: any of them. */
function Heard({ calls, by }: { calls: Member[]; by: string }) {
  const t = useT();
  const language = useLanguage();
  const others = calls.filter((bot) => bot.name !== by).map((bot) => bot.name);
  const name = listed(others, language);
  const text = !others.length ? t("saysItself", { name: by }) : by ? t("heardFromBot", { by, name }) : t("heardFromAny", { name });
  return (
    <p role="status" className="text-xs text-muted-foreground">
      <Prose text={text} />
    </p>
  );
}
