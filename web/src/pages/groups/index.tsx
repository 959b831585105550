import { MessagesSquare, PanelRight, Search, X } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { Avatar, Empty, Highlit, Loading, Problem } from "@/components/common";
import { Find } from "@/components/Find";
import { HitList } from "@/components/HitList";
import { Excerpt, ListRow } from "@/components/ListRow";
import { Loaded } from "@/components/Loaded";
import { Nowhere } from "@/components/Nowhere";
import { Back, Bar, Split } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { useData } from "@/lib/data";
import { changeDraft, useDraft } from "@/lib/drafts";
import { useLanguage, useT } from "@/lib/i18n";
import { toWrite, useKeys } from "@/lib/keys";
import { useBackCloses } from "@/lib/over";
import type { Page } from "@/lib/page";
import { go, href, leadOn } from "@/lib/router";
import { cn, plain } from "@/lib/utils";
import { Composer, draftOf } from "@/pages/groups/Composer";
import { MessageList } from "@/pages/groups/MessageList";
import { signsOfLife } from "@/pages/groups/mentions";
import { Side } from "@/pages/groups/Side";
import { start } from "@/pages/groups/start";
import { type Chat, type Decision, type Member, type Message, titleOf } from "@/pages/groups/types";
import { useTalk } from "@/pages/groups/useTalk";
import * as words from "@/pages/groups/words";

export const groups: Page<typeof words> = {
  name: "groups",
  words,
  title: "groups",
  about: "about_groups",
  icon: <MessagesSquare />,
  show: (place) => <GroupsPage place={place} />,
  listed: { path: "/api/groups", field: "chats" },
  start,
};

function GroupsPage({ place }: { place: string[] }) {
  const t = useT();
  const chats = useData<{ chats: Chat[] }>(
    "/api/groups",
    {},
    (news) => news.room === "groups" && (news.what === "messages" || news.what === "members" || !news.what),
  );
  const [query, setQuery] = useState("");
  const key = place[0];
  const open = chats.value?.chats.find((chat) => chat.key === key);
  const first = latest(chats.value?.chats ?? [])[0]?.key;
  useEffect(() => {
    // Where there is room for both, a chat is open from the beginning.
    if (!key && first && matchMedia("(min-width: 768px)").matches) leadOn("groups", first);
  }, [key, first]);
  useKeys({ c: toWrite });

  return (
    <Split
      label={t("groups")}
      open={key !== undefined}
      list={
        <>
          <Bar>
            <h1 className="sr-only">{t("groups")}</h1>
            <Find label={t("searchMessages")} onFind={setQuery} />
          </Bar>
          <div className="min-h-0 flex-1 overflow-y-auto">
            {query ? (
              <Hits query={query} chats={chats.value?.chats ?? []} place={place} />
            ) : (
              <Loaded data={chats}>
                {({ chats: known }) =>
                  known.length ? (
                    <ul>
                      {latest(known).map((chat) => (
                        <li key={chat.key}>
                          <ChatRow chat={chat} current={chat.key === key} />
                        </li>
                      ))}
                    </ul>
                  ) : (
                    <Empty icon={<MessagesSquare />} title={t("noGroups")} text={t("noGroupsHint")} />
                  )
                }
              </Loaded>
            )}
          </div>
        </>
      }
    >
      {key ? (
        <Talking key={key} chat={key} known={open} listed={chats.value !== undefined} wanted={place[1]} />
      ) : (
        first && <Empty icon={<MessagesSquare />} title={t("choose")} />
      )}
    </Split>
  );
}

/** The one written to last first. */
function latest(chats: readonly Chat[]): Chat[] {
  return chats.toSorted((one, other) => (other.last?.ts ?? other.last_write) - (one.last?.ts ?? one.last_write));
}

function ChatRow({ chat, current }: { chat: Chat; current: boolean }) {
  const t = useT();
  const language = useLanguage();
  return (
    <ListRow
      to={href("groups", chat.key)}
      current={current}
      face={<Faces chat={chat} />}
      title={titleOf(chat, language)}
      ms={chat.last?.ts ?? chat.last_write}
      text={chat.last ? `${chat.last.name}: ${plain(chat.last.text).replace(/\s+/g, " ")}` : t("nothingYet")}
    />
  );
}

function Faces({ chat }: { chat: Chat }) {
  const bot = chat.members.find((member) => member.bot);
  const person = chat.members.find((member) => !member.bot);
  const shown = [person ?? chat.members[1], bot ?? chat.members[1]].filter((member) => member !== undefined);
  if (!shown.length) return <Avatar name={chat.id} />;
  return (
    <span className="relative size-9 shrink-0">
      {shown.map((member, index) => (
        <span
          key={index}
          className={cn(
            "absolute ring-2 ring-surface",
            member.bot ? "rounded-lg" : "rounded-full",
            index ? "right-0 bottom-0" : "top-0 left-0",
          )}
        >
          <Avatar name={member.name} bot={member.bot} small={shown.length > 1} />
        </span>
      ))}
    </span>
  );
}

/** Whether there is room for what is told about a group beside it; else that lies over it. */
function hasRoom(): boolean {
  return matchMedia("(min-width: 1180px)").matches;
}

const NONE: Record<string, Decision[]> = {};

interface TalkingProps {
  chat: string;
  known: Chat | undefined;
  /** Whether it is known which chats there are. */
  listed: boolean;
  /** The message that was searched for. */
  wanted: string | undefined;
}

function Talking({ chat, known, listed, wanted }: TalkingProps) {
  const t = useT();
  const language = useLanguage();
  const talk = useTalk(chat);
  const [side, setSide] = useState(hasRoom);
  const over = side && !hasRoom();
  useBackCloses(over, () => setSide(false));
  useKeys({ Escape: () => (over ? setSide(false) : go("groups")) });
  const { draft, change } = useDraft<{ answering?: Message | undefined }>(draftOf(chat), {});
  const [sent, setSent] = useState(0);
  const reply = useCallback(
    (answering: Message) => {
      changeDraft(draftOf(chat), { answering });
      toWrite();
    },
    [chat],
  );
  const concerns = (what: string) => (news: { room: string; what?: string; chat?: string }) =>
    news.room === "groups" && news.what === what && (news.chat === undefined || news.chat === chat);
  const members = useData<{ members: Member[] }>("/api/groups/members", { chat }, concerns("members"));
  const decisions = useData<{ decisions: Record<string, Decision[]> }>(
    "/api/groups/decisions",
    { chat },
    concerns("decisions"),
  );
  const everybody = members.value?.members ?? [];
  const signs = useMemo(
    () => signsOfLife(talk.messages ?? [], decisions.value?.decisions ?? {}),
    [talk.messages, decisions.value],
  );
  const there = talk.messages?.some((message) => message.id === wanted) ?? false;
  const { older, loadOlder, error } = talk;
  useEffect(() => {
    if (wanted && !there && older && !error) void loadOlder();
  }, [wanted, there, older, error, loadOlder]);

  if (listed && !known && talk.messages?.length === 0) return <Nowhere to={href("groups")} />;
  return (
    <div className="relative flex min-h-0 flex-1">
      <div className="flex min-w-0 flex-1 flex-col">
        <Bar>
          <Back to={href("groups")} />
          <div className="min-w-0 flex-1">
            <h2 className="truncate text-sm font-semibold">{known ? titleOf(known, language) : chat}</h2>
            <p className="truncate text-xs text-muted-foreground">{chat}</p>
          </div>
          <Badge>{t("memberCount", { n: everybody.length })}</Badge>
          <Button
            variant="ghost"
            size="icon"
            aria-pressed={side}
            aria-label={t("about")}
            title={t("about")}
            onClick={() => setSide(!side)}
          >
            <PanelRight />
          </Button>
        </Bar>
        {talk.error && <Problem error={talk.error} retry={talk.reload} />}
        {!talk.messages ? (
          !talk.error && <Loading />
        ) : !talk.messages.length ? (
          <Empty icon={<MessagesSquare />} title={t("nothingYet")} />
        ) : (
          <MessageList
            chat={chat}
            messages={talk.messages}
            older={talk.older !== null}
            loadOlder={talk.loadOlder}
            decisions={decisions.value?.decisions ?? NONE}
            wanted={there ? wanted : undefined}
            sent={sent}
            onReply={reply}
          />
        )}
        <Composer
          chat={chat}
          bots={everybody.filter((member) => member.bot)}
          signs={signs}
          answering={draft.answering}
          onDone={() => draft.answering && change({ answering: undefined })}
          onSent={() => setSent((before) => before + 1)}
        />
      </div>
      {side && (
        <aside
          aria-label={t("about")}
          className={cn(
            "flex w-80 shrink-0 flex-col border-l bg-surface",
            "max-[1179px]:absolute max-[1179px]:inset-y-0 max-[1179px]:right-0 max-[1179px]:z-10 max-[1179px]:w-[min(20rem,100%)] max-[1179px]:shadow-xl",
          )}
        >
          <Bar className="justify-between">
            <h2 className="text-sm font-semibold">{t("about")}</h2>
            <Button variant="ghost" size="icon" aria-label={t("close")} onClick={() => setSide(false)}>
              <X />
            </Button>
          </Bar>
          <Side chat={chat} members={everybody} />
        </aside>
      )}
    </div>
  );
}

type Hit = Message & { chat: string };

function Hits({ query, chats, place }: { query: string; chats: Chat[]; place: string[] }) {
  const t = useT();
  const found = useData<{ hits: Hit[] }>(
    "/api/groups/search",
    { q: query },
    (news) => news.room === "groups" && news.what === "messages",
  );
  return (
    <Loaded data={found}>
      {({ hits }) =>
        hits.length ? (
          <HitList query={query}>
            {hits.map((hit) => (
              <li key={`${hit.chat} ${hit.id} ${hit.ts}`}>
                <HitRow
                  hit={hit}
                  chat={chats.find((each) => each.key === hit.chat)}
                  query={query}
                  current={hit.chat === place[0] && hit.id === place[1]}
                />
              </li>
            ))}
          </HitList>
        ) : (
          <Empty icon={<Search />} title={t("nothingFound")} text={t("searchLiteral")} />
        )
      }
    </Loaded>
  );
}

function HitRow(props: { hit: Hit; chat: Chat | undefined; query: string; current: boolean }) {
  const { hit, chat, query, current } = props;
  const language = useLanguage();
  return (
    <ListRow
      to={href("groups", hit.chat, ...(hit.id ? [hit.id] : []))}
      current={current}
      face={<Avatar name={hit.name} bot={hit.bot} small />}
      title={hit.name}
      ms={hit.ts}
    >
      <Excerpt>
        <Highlit text={hit.text} word={query} />
      </Excerpt>
      {chat && <span className="block truncate text-xs text-muted-foreground">{titleOf(chat, language)}</span>}
    </ListRow>
  );
}
