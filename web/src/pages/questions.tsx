import { Bell, BellOff, CheckCheck, Clock, FileText, HandHelping, Hourglass, Paperclip, Search, SendHorizontal, X } from "lucide-react";
import { type ClipboardEvent, useEffect, useRef, useState } from "react";
import { Avatar, Empty, Highlit, Time, useNow, useSpan } from "@/components/common";
import { Markdown } from "@/components/Markdown";
import { Back, Bar, Split, rowStyle } from "@/components/Split";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Input, Label, Textarea } from "@/components/ui/input";
import { toast } from "@/components/ui/toast";
import type { WireContent } from "@/lib/assistant/socket";
import {
  type Item,
  type Talk,
  answer,
  isOpen,
  loadOlder,
  nickname,
  search,
  setNickname,
  talksOf,
  useAssistant,
  write,
} from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { isSend, useKeys } from "@/lib/keys";
import { canNotify, mayNotify, wantNotify } from "@/lib/notify";
import { go, href } from "@/lib/router";
import { cn } from "@/lib/utils";
import { Find } from "@/pages/groups";

const LARGEST = 10 * 1024 * 1024;

/** #/questions/CONVERSATION */
export function QuestionsPage({ place }: { place: string[] }) {
  const t = useT();
  const state = useAssistant();
  const [query, setQuery] = useState("");
  const [notified, setNotified] = useState(mayNotify);
  useEffect(() => search(query), [query]);
  useKeys({ Escape: () => go("questions") });
  const talks = talksOf(state.items);
  const talk = talks.find((each) => each.key === place[0]);

  return (
    <Split
      label={t("questions")}
      open={place[0] !== undefined}
      back={href("questions")}
      list={
        <>
          <Bar>
            <h1 className="sr-only">{t("questions")}</h1>
            <Find query={query} setQuery={setQuery} label={t("searchQuestions")} />
            {canNotify() && (
              <Button
                variant="ghost"
                size="icon"
                aria-pressed={notified}
                aria-label={t("notify")}
                title={t("notify")}
                onClick={() => void wantNotify(!notified).then(setNotified)}
              >
                {notified ? <Bell /> : <BellOff />}
              </Button>
            )}
          </Bar>
          {(state.refused || state.problem) && (
            <p role="alert" className="border-b px-4 py-2 text-sm text-destructive">
              {state.refused || state.problem}
            </p>
          )}
          <div className="min-h-0 flex-1 overflow-y-auto">
            {query ? (
              <Found items={state.found} query={query} />
            ) : !talks.length ? (
              <Empty icon={<HandHelping />} title={t("noQuestions")} text={t("noQuestionsHint")} />
            ) : (
              <ul>
                {talks.map((each) => (
                  <li key={each.key}>
                    <TalkRow talk={each} current={each.key === talk?.key} />
                  </li>
                ))}
              </ul>
            )}
            {!query && state.older > 0n && (
              <div className="p-3 text-center">
                <Button variant="outline" size="sm" onClick={loadOlder}>
                  {t("loadOlderTalks")}
                </Button>
              </div>
            )}
          </div>
          <YourName />
        </>
      }
    >
      {talk ? (
        <Talking key={talk.key} talk={talk} open={state.open} />
      ) : (
        <Empty icon={<HandHelping />} title={t("chooseTalk")} text={t("questionsHint")} />
      )}
    </Split>
  );
}

function YourName() {
  const t = useT();
  const [name, setName] = useState(nickname);
  return (
    <div className="flex shrink-0 items-center gap-2 border-t px-4 py-2">
      <Label htmlFor="your-name" className="shrink-0">
        {t("yourName")}
      </Label>
      <Input
        id="your-name"
        value={name}
        maxLength={60}
        placeholder={t("yourNameHint")}
        className="h-8"
        onChange={(event) => setName(event.target.value)}
        onBlur={() => setNickname(name)}
        onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      />
    </div>
  );
}

function projectName(path: string): string {
  return path.split(/[\\/]/).filter(Boolean).at(-1) ?? path;
}

function TalkRow({ talk, current }: { talk: Talk; current: boolean }) {
  const t = useT();
  const last = talk.items.at(-1);
  return (
    <a data-row href={href("questions", talk.key)} aria-current={current} className={rowStyle}>
      <Avatar name={talk.agent || talk.project} bot />
      <span className="min-w-0 flex-1">
        <span className="flex items-baseline gap-2">
          <span className="min-w-0 flex-1 truncate text-sm font-semibold">
            {talk.agent || t("agent")} <span className="font-normal text-muted-foreground">{projectName(talk.project)}</span>
          </span>
          <Time ms={talk.latest} className="shrink-0 text-xs text-muted-foreground" />
        </span>
        <span className="mt-0.5 flex items-center gap-2 text-[13px] text-muted-foreground">
          <span className="min-w-0 flex-1 truncate">{last?.text.replace(/\*\*|`/g, "")}</span>
          {talk.waiting > 0 && <Badge variant="solid">{talk.waiting}</Badge>}
        </span>
      </span>
    </a>
  );
}

function Found({ items, query }: { items: readonly Item[] | undefined; query: string }) {
  const t = useT();
  if (!items) return null;
  if (!items.length) return <Empty icon={<Search />} title={t("nothingFound")} />;
  return (
    <ul>
      {items.map((item) => (
        <li key={item.id}>
          <a data-row href={href("questions", JSON.stringify([item.project, item.agent]))} className={rowStyle}>
            <Avatar name={item.agent || item.project} bot small />
            <span className="min-w-0 flex-1">
              <span className="flex items-baseline gap-2 text-[13px]">
                <span className="min-w-0 flex-1 truncate font-semibold">{item.agent || t("agent")}</span>
                <Time ms={item.asked} className="shrink-0 text-xs text-muted-foreground" />
              </span>
              <span className="mt-0.5 line-clamp-3 text-[13px] [overflow-wrap:anywhere]">
                <Highlit text={item.text} word={query.split(/\s+/)[0] ?? ""} />
              </span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Talking({ talk, open }: { talk: Talk; open: boolean }) {
  const t = useT();
  const end = useRef<HTMLDivElement>(null);
  const latest = talk.items.at(-1);
  useEffect(() => {
    void end.current?.scrollIntoView({ block: "end" });
  }, [latest?.id, talk.items.length]);
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
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="log" aria-label={t("questions")}>
        <div className="mx-auto flex max-w-3xl flex-col gap-4 p-4">
          {talk.items.map((item) =>
            item.kind === "message" ? <Written key={item.id} item={item} /> : <Asked key={item.id} item={item} open={open} />,
          )}
          <div ref={end} />
        </div>
      </div>
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
            {each.embeddedResource.uri.split("/").at(-1)}
          </p>
        ) : each.text ? (
          <Markdown key={index} text={each.text.text} />
        ) : null,
      )}
    </>
  );
}

interface Attached {
  name: string;
  content: WireContent;
  picture: string | undefined;
}

async function attached(file: File): Promise<Attached> {
  const data = new Uint8Array(await file.arrayBuffer());
  if (!file.type.startsWith("image/")) {
    const uri = `attachment://file/${encodeURIComponent(file.name)}`;
    const mimeType = file.type || "application/octet-stream";
    return { name: file.name, content: { type: 4, embeddedResource: { uri, mimeType, data } }, picture: undefined };
  }
  let text = "";
  for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
  const encoded = btoa(text);
  const picture = `data:${file.type};base64,${encoded}`;
  return { name: file.name, content: { type: 2, image: { data: encoded, mimeType: file.type } }, picture };
}

function useFiles() {
  const t = useT();
  const [files, setFiles] = useState<Attached[]>([]);
  const add = async (chosen: Iterable<File>) => {
    for (const file of chosen) {
      if (file.size > LARGEST) toast(t("fileTooLarge", { name: file.name }), { bad: true });
      else {
        const made = await attached(file);
        setFiles((before) => [...before, made]);
      }
    }
  };
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length) {
      event.preventDefault();
      void add([...event.clipboardData.files]);
    }
  };
  return { files, setFiles, add, paste };
}

function Files({ files, remove }: { files: Attached[]; remove: (file: Attached) => void }) {
  const t = useT();
  if (!files.length) return null;
  return (
    <ul className="flex flex-wrap gap-2">
      {files.map((file, index) => (
        <li key={index} className="flex items-center gap-1.5 rounded-lg border bg-surface p-1.5 text-xs">
          {file.picture ? <img src={file.picture} alt="" className="h-10 rounded" /> : <FileText className="size-4" />}
          <span className="max-w-32 truncate">{file.name}</span>
          <button type="button" aria-label={t("removeFile", { name: file.name })} onClick={() => remove(file)}>
            <X className="size-4" />
          </button>
        </li>
      ))}
    </ul>
  );
}

function AddFile({ add }: { add: (files: Iterable<File>) => void }) {
  const t = useT();
  return (
    <label
      title={t("addFile")}
      className="flex size-10 cursor-pointer items-center justify-center rounded-md hover:bg-muted has-focus-visible:outline-2 has-focus-visible:outline-ring"
    >
      <Paperclip className="size-4" aria-hidden />
      <span className="sr-only">{t("addFile")}</span>
      <input
        type="file"
        multiple
        className="sr-only"
        onChange={(event) => {
          add([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
    </label>
  );
}

/** Choices, words, pictures and files: whatever of it there is becomes the answer. */
function Reply({ item, disabled }: { item: Item; disabled: boolean }) {
  const t = useT();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<Record<number, string[]>>({});
  const { files, setFiles, add, paste } = useFiles();
  const ready = text.trim() !== "" || files.length > 0 || Object.values(chosen).some((labels) => labels.length > 0);
  const isReport = item.kind === "report";

  const send = (said = text) => {
    const parts: string[] = [];
    item.choices.forEach((choice, index) => {
      const labels = chosen[index];
      if (labels?.length) parts.push((item.choices.length > 1 ? `${choice.header || choice.question}: ` : "") + labels.join(", "));
    });
    if (said.trim()) parts.push(said);
    const contents: WireContent[] = parts.length ? [{ type: 1, text: { text: parts.join("\n\n") } }] : [];
    answer(item, [...contents, ...files.map((file) => file.content)]);
  };
  const toggle = (index: number, label: string, multiple: boolean) => {
    const before = chosen[index] ?? [];
    const has = before.includes(label);
    const next = multiple ? (has ? before.filter((each) => each !== label) : [...before, label]) : has ? [] : [label];
    setChosen({ ...chosen, [index]: next });
  };
  return (
    <div className="flex flex-col gap-2.5 border-t px-4 py-3">
      {item.choices.map((choice, index) => (
        <fieldset key={index}>
          {(choice.question || choice.header) && (
            <legend className="mb-1.5 text-sm font-medium">{choice.question || choice.header}</legend>
          )}
          <div className="flex flex-wrap gap-2">
            {choice.options.map((option) => {
              const on = chosen[index]?.includes(option.label) ?? false;
              return (
                <label
                  key={option.label}
                  className={cn(
                    "cursor-pointer rounded-lg border px-3 py-1.5 text-sm hover:bg-muted has-focus-visible:outline-2 has-focus-visible:outline-ring",
                    on && "border-primary bg-accent text-accent-foreground",
                  )}
                >
                  <input
                    type={choice.multiple ? "checkbox" : "radio"}
                    name={`${item.id}-${index}`}
                    className="sr-only"
                    checked={on}
                    onChange={() => toggle(index, option.label, choice.multiple)}
                  />
                  <span className="font-medium">{option.label}</span>
                  {option.description && <span className="block text-xs text-muted-foreground">{option.description}</span>}
                </label>
              );
            })}
          </div>
        </fieldset>
      ))}
      <Files files={files} remove={(file) => setFiles(files.filter((each) => each !== file))} />
      <div className="flex items-end gap-2">
        <Textarea
          rows={1}
          value={text}
          aria-label={t("yourAnswer")}
          placeholder={t("yourAnswer")}
          className="max-h-60 min-h-10 flex-1 field-sizing-content"
          onPaste={paste}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => isSend(event) && ready && !disabled && send()}
        />
        <AddFile add={(chosenFiles) => void add(chosenFiles)} />
        {isReport && !ready ? (
          <Button className="h-10" disabled={disabled} onClick={() => send("OK")}>
            <CheckCheck />
            {t("confirm")}
          </Button>
        ) : (
          <Button className="h-10" title="Ctrl+Enter" disabled={!ready || disabled} onClick={() => send()}>
            <SendHorizontal />
            {t("answerIt")}
          </Button>
        )}
      </div>
    </div>
  );
}

function Unasked({ talk }: { talk: Talk }) {
  const t = useT();
  const [text, setText] = useState("");
  const { files, setFiles, add, paste } = useFiles();
  const ready = text.trim() !== "" || files.length > 0;
  const send = () => {
    if (!ready) return;
    if (!write(talk, text, files.map((file) => file.content))) return toast(t("offline"), { bad: true });
    setText("");
    setFiles([]);
  };
  const label = t("writeUnasked", { name: talk.agent || t("agent") });
  return (
    <footer className="flex shrink-0 flex-col gap-2 border-t bg-surface px-4 py-2.5">
      <Files files={files} remove={(file) => setFiles(files.filter((each) => each !== file))} />
      <div className="flex items-end gap-2">
        <Textarea
          rows={1}
          value={text}
          aria-label={label}
          placeholder={label}
          className="max-h-48 min-h-10 flex-1 field-sizing-content"
          onPaste={paste}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => isSend(event) && send()}
        />
        <AddFile add={(chosen) => void add(chosen)} />
        <Button variant="outline" className="h-10" aria-label={t("send")} title="Ctrl+Enter" disabled={!ready} onClick={send}>
          <SendHorizontal />
        </Button>
      </div>
    </footer>
  );
}
