import { Keyboard } from "lucide-react";
import { useCallback, useEffect, useState } from "react";
import { Away } from "@/components/Away";
import { Choices } from "@/components/Choices";
import { Problem } from "@/components/common";
import { Fence } from "@/components/Fence";
import { Logo } from "@/components/Logo";
import { Nowhere } from "@/components/Nowhere";
import { TokenGate } from "@/components/TokenGate";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Toasts } from "@/components/ui/toast";
import { ApiError, get, onRefused } from "@/lib/api";
import { type Connection, startEvents, useConnection } from "@/lib/events";
import { type Key, listed, useLanguage, useT } from "@/lib/i18n";
import { useKeys } from "@/lib/keys";
import { setLargestFile } from "@/lib/limits";
import { go, href, usePlace } from "@/lib/router";
import { cameWithToken } from "@/lib/token";
import { cn } from "@/lib/utils";
import { type AnyPage, PAGES } from "@/pages";
import { Home } from "@/pages/home";
import { hasLine, useLines } from "@/pages/lines";

/** Of how many pages each has a key: its place among them. */
const KEYED = 9;

interface About {
  version: string;
  pages: string[];
  caller: string;
  /** Bytes of the largest file that agents are given. */
  max_attachment?: number;
}

export function App() {
  const [about, setAbout] = useState<About>();
  const [error, setError] = useState<ApiError>();
  const [locked, setLocked] = useState<ApiError>();

  const load = useCallback(async () => {
    try {
      const found = await get<About>("/api/about");
      setLargestFile(found.max_attachment);
      setAbout(found);
      setError(undefined);
      if (!pagesOf(found).every(hasLine)) startEvents();
    } catch (found) {
      if (found instanceof ApiError && !found.wantsToken) setError(found);
    }
  }, []);
  useEffect(() => {
    const stop = onRefused(setLocked);
    void load();
    return stop;
  }, [load]);
  useEffect(() => {
    if (!error) return;
    const timer = setTimeout(() => void load(), 3000);
    return () => clearTimeout(timer);
  }, [error, load]);

  if (locked) return <TokenGate ofProgram={locked.status === 403} />;
  if (error && !about) return <Problem error={error} retry={() => void load()} />;
  if (!about) return null;
  return <Frame about={about} />;
}

function pagesOf(about: About): AnyPage[] {
  return PAGES.filter((page) => about.pages.includes(page.name));
}

function Frame({ about }: { about: About }) {
  const t = useT();
  const language = useLanguage();
  const place = usePlace();
  const [help, setHelp] = useState(false);
  const pages = pagesOf(about);
  const page = pages.find((each) => each.name === place[0]);

  useKeys({
    "?": () => setHelp(true),
    "/": () => {
      const field = document.querySelector<HTMLInputElement>("[data-search]");
      field?.focus();
      field?.select(); // what was searched before is replaced by what is typed
    },
    j: () => step(1),
    k: () => step(-1),
    ...Object.fromEntries(pages.slice(0, KEYED).map((each, index) => [String(index + 1), () => go(each.name)])),
  });
  const lines = useLines();
  const news = useConnection();
  const [first] = pages;
  const isToldNews = !pages.every(hasLine); // a token that opens nothing but pages with a line is told none
  const connection = isToldNews ? news : ((first && lines.get(first.name)?.connection) ?? "connecting");
  const own = page && lines.get(page.name);
  const isAway = connection === "offline" || (own?.connection === "offline" && !own.refused);
  const isOfOtherTokens = !isToldNews && PAGES.some((each) => each.name === place[0]);
  const only = isOfOtherTokens ? t("onlyPages", { pages: listed(pages.map((each) => t(each.title)), language) }) : undefined;
  const waiting = pages.reduce((sum, each) => sum + (lines.get(each.name)?.waiting ?? 0), 0);
  useEffect(() => {
    for (const each of pagesOf(about)) each.line?.start();
  }, [about]);
  // Who is given a token in an address is waited for on such a page.
  const opened = !place[0] && cameWithToken() ? pages.find(hasLine)?.name : undefined;
  useEffect(() => {
    if (opened) location.replace(href(opened));
  }, [opened]);
  useEffect(() => {
    const count = waiting ? `(${waiting}) ` : "";
    document.title = `${count}${page ? `${t(page.title)} · ` : ""}nanobot-transcript`;
  }, [page, t, waiting]);

  const isLockedOut = first !== undefined && pages.every((each) => lines.get(each.name)?.refused);
  if (isLockedOut) return <TokenGate />; // the hub no longer has the one token that opened this
  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <a
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-md focus:bg-surface focus:p-2"
      >
        {t("skip")}
      </a>
      <nav
        aria-label={t("pages")}
        className="order-last flex shrink-0 border-t bg-surface md:order-first md:w-20 md:flex-col lg:w-52 md:border-t-0 md:border-r"
      >
        <div className="hidden items-center justify-center gap-2 px-4 pt-4 pb-3 md:flex lg:justify-start">
          <Logo />
          <span className="hidden text-[13px] font-semibold whitespace-nowrap lg:inline">nanobot-transcript</span>
        </div>
        <ul className="flex flex-1 md:flex-none md:flex-col md:gap-0.5 md:px-1 lg:px-2">
          {pages.map((each, index) => (
            <PageLink key={each.name} page={each} at={index + 1} current={each === page} waiting={lines.get(each.name)?.waiting ?? 0} />
          ))}
        </ul>
        <div className="hidden flex-1 md:block" />
        <div className="hidden flex-col items-center gap-2 p-3 md:flex lg:items-stretch">
          <Connected connection={connection} />
          <div className="flex flex-col gap-1 lg:flex-row">
            <Choices />
            <Button variant="ghost" size="icon" aria-label={t("keys")} title={t("keys")} onClick={() => setHelp(true)}>
              <Keyboard />
            </Button>
          </div>
          <p className="hidden px-1 text-xs text-muted-foreground lg:block">
            {about.version}
            {about.caller && ` · ${about.caller}`}
          </p>
        </div>
      </nav>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <div className="flex items-center gap-2 border-b bg-surface py-1 pr-1 pl-4 md:hidden">
          <Logo />
          <span className="min-w-0 flex-1 truncate text-sm font-semibold">nanobot-transcript</span>
          <Connected connection={connection} />
          <Choices />
        </div>
        <main id="main" tabIndex={-1} className="group/main flex min-h-0 flex-1 flex-col outline-none">
          <Away broken={isAway} />
          {!place[0] && !opened && <Home pages={pages} lines={lines} />}
          {page && <Fence key={page.name} at={place.join("/")}>{page.show(place.slice(1))}</Fence>}
          {place[0] && !page && <Nowhere to="#/" why={only} />}
        </main>
      </div>
      <Dialog open={help} title={t("keys")} onClose={() => setHelp(false)}>
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2 text-sm">
          {(
            [
              [pages.length > 1 ? `1 – ${Math.min(pages.length, KEYED)}` : "1", "keyPages"],
              ["/", "keySearch"],
              ["j  k", "keyRows"],
              ...pages.flatMap<readonly [string, Key]>((each) => each.keys ?? []),
              ["c", "keyWrite"],
              ["Ctrl + Enter", "keySend"],
              ["Enter", "keyEnter"],
              ["Esc", "keyClose"],
              ["?", "keyHelp"],
            ] as (readonly [string, Key])[]
          ).map(([key, text]) => (
            <div key={key} className="contents">
              <dt>
                <kbd className="rounded-md border bg-muted px-2 py-0.5 font-mono text-xs">{key}</kbd>
              </dt>
              <dd>{t(text)}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
      <Toasts />
    </div>
  );
}

function PageLink(props: { page: AnyPage; at: number; current: boolean; waiting: number }) {
  const t = useT();
  const { page, at, current, waiting } = props;
  return (
    <li className="min-w-0 flex-auto">
      <a
        href={href(page.name)}
        aria-current={current ? "page" : undefined}
        title={`${t(page.title)}: ${t(page.about)}${at <= KEYED ? ` (${at})` : ""}`}
        className={cn(
          "relative flex flex-col items-center gap-0.5 px-0.5 py-2 text-[11px] font-medium text-muted-foreground max-[359px]:text-[10px] max-[359px]:tracking-tight md:rounded-md lg:flex-row lg:gap-2.5 lg:px-2.5 lg:text-sm [&_svg]:size-5 lg:[&_svg]:size-[18px]",
          current ? "text-accent-foreground md:bg-accent" : "hover:bg-muted",
        )}
      >
        {page.icon}
        <span className="max-w-full truncate">{t(page.title)}</span>
        {waiting > 0 && (
          <Badge variant="solid" className="max-lg:absolute max-lg:ml-8 max-lg:-mt-0.5 max-lg:px-1.5 lg:ml-auto">
            {waiting}
          </Badge>
        )}
      </a>
    </li>
  );
}

/** Moves the focus through the rows of the list on the page. */
function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")].filter((row) => row.offsetParent !== null);
  const at = rows.findIndex((row) => row === document.activeElement);
  const current = at >= 0 ? at : rows.findIndex((row) => row.ariaCurrent === "true");
  const next = rows[Math.min(rows.length - 1, Math.max(0, current + by))];
  next?.focus();
  if (next instanceof HTMLAnchorElement) next.click();
}

function Connected({ connection }: { connection: Connection }) {
  const t = useT();
  return (
    <p role="status" className="flex items-center gap-2 px-1 text-xs text-muted-foreground" data-connection={connection}>
      <span
        aria-hidden
        className={cn(
          "size-2 rounded-full",
          connection === "live" ? "bg-positive" : connection === "connecting" ? "bg-warning" : "bg-destructive",
        )}
      />
      <span className={connection === "live" ? "max-lg:sr-only" : "md:max-lg:sr-only"}>{t(connection)}</span>
    </p>
  );
}
