import { CircleHelp, Copy, SendHorizontal, Trash2 } from "lucide-react";
import { type ReactNode, type RefObject, useLayoutEffect, useRef } from "react";
import { GrowingField } from "@/components/GrowingField";
import { Button } from "@/components/ui/button";
import { toast } from "@/components/ui/toast";
import { type Draft, changeDraft, hasWords, takeDraft } from "@/lib/assistant/drafts";
import { type Item, type Talk, takesWords } from "@/lib/assistant/items";
import { assistant } from "@/lib/assistant/store";
import { useCopy } from "@/lib/copy";
import { useT } from "@/lib/i18n";
import { letGo } from "@/lib/keys";
import { cn, plain } from "@/lib/utils";
import { contentsOf, isReady } from "@/pages/questions/reply";
import type { Give } from "@/pages/questions/useLeading";
import { AddFile, Files, useAddFiles } from "@/pages/questions/files";

/**
 * What the one box below a conversation is for: the answer to an open question, words that somebody else's answer came
 * before, or a message to the agent.
 */
export type Purpose = { is: "answer"; item: Item } | { is: "kept"; item: Item } | { is: "unasked" };

interface Props {
  talk: Talk;
  purpose: Purpose;
  /** The name of the draft that is in the box. */
  name: string;
  draft: Draft;
  connected: boolean;
  choose: (what: "answer" | "unasked") => void;
  give: Give;
}

export function Box({ talk, purpose, name, draft, connected, choose, give }: Props) {
  const t = useT();
  const { add, paste } = useAddFiles(name, draft.files);
  const footer = useLettingGo(purpose.is === "answer" ? name : "");
  const agent = talk.agent || t("theAgent");
  const words = purpose.is !== "answer" || takesWords(purpose.item);
  const send = () => {
    if (purpose.is === "answer" && connected && isReady(purpose.item, draft)) {
      give(purpose.item, contentsOf(purpose.item, draft));
    } else if (purpose.is === "unasked" && hasWords(draft)) writeIt();
  };
  const writeIt = () => {
    if (!assistant.write(talk, name, draft.text, draft.files.map((file) => file.content))) toast(t("offline"), { bad: true });
  };
  return (
    <footer
      ref={footer}
      className={cn(
        "flex max-h-[60dvh] shrink-0 flex-col gap-2 border-t bg-surface px-4 py-2.5",
        purpose.is === "answer" && "border-t-2 border-primary",
      )}
    >
      <Head talk={talk} purpose={purpose} draft={draft} choose={choose} />
      {draft.problem && (
        <p role="alert" className="text-sm text-destructive">
          {t("notSent")} {draft.problem === "tooMuch" ? t("tooMuch") : draft.problem}
        </p>
      )}
      <Files
        files={draft.files}
        remove={(gone) => changeDraft(name, (before) => ({ files: before.files.filter((each) => each !== gone) }))}
      />
      <div className="flex items-end gap-2">
        {words ? (
          <>
            <GrowingField
              data-enter={purpose.is === "answer" || undefined}
              label={
                purpose.is === "answer"
                  ? t("yourAnswer")
                  : purpose.is === "kept"
                    ? t("keptWords")
                    : t("writeUnasked", { name: agent })
              }
              value={draft.text}
              onText={(text) => changeDraft(name, () => ({ text, problem: "" }))}
              onSend={send}
              onPaste={paste}
            />
            <AddFile add={(chosen) => void add(chosen)} />
          </>
        ) : (
          purpose.is === "answer" && <Chosen item={purpose.item} draft={draft} />
        )}
        {purpose.is === "answer" && isAnsweredHere(purpose.item, draft) && (
          <Button className="h-10" title="Ctrl+Enter" disabled={!connected || !isReady(purpose.item, draft)} onClick={send}>
            <SendHorizontal />
            {t("answerIt")}
          </Button>
        )}
        {purpose.is === "unasked" && (
          <Button
            variant="outline"
            className="h-10"
            aria-label={t("send")}
            title="Ctrl+Enter"
            disabled={!hasWords(draft)}
            onClick={send}
          >
            <SendHorizontal />
          </Button>
        )}
      </div>
      {purpose.is === "kept" && <KeptButtons name={name} draft={draft} writeIt={writeIt} />}
    </footer>
  );
}

/** Who writes on when the box has come to answer something else must not answer that: it lets go of the focus. */
function useLettingGo(answered: string): RefObject<HTMLElement | null> {
  const footer = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const focused = document.activeElement;
    if (answered && focused instanceof HTMLElement && footer.current?.contains(focused)) letGo(focused);
  }, [answered]);
  return footer;
}

/** Says what the box is for, and leads to what else it could be. */
function Head({ talk, purpose, draft, choose }: Pick<Props, "talk" | "purpose" | "draft" | "choose">) {
  const t = useT();
  const name = talk.agent || t("theAgent");
  if (purpose.is === "kept") {
    const { by, state } = purpose.item;
    return (
      <Line warning>{state === "answered" ? (by ? t("keptAfter", { name: by }) : t("keptAfterSomebody")) : t("keptAfterEnd")}</Line>
    );
  }
  if (!talk.waiting) return null;
  if (purpose.is === "unasked") {
    return (
      <Line warning action={<Button size="sm" onClick={() => choose("answer")}>{t("answerInstead")}</Button>}>
        {t("openElsewhere", { name })}
      </Line>
    );
  }
  const { item } = purpose;
  return (
    <Line
      action={
        <Button variant="ghost" size="sm" className="text-muted-foreground" onClick={() => choose("unasked")}>
          {t("writeInstead")}
        </Button>
      }
    >
      <span className="font-semibold">{t(item.kind === "report" ? "openReport" : "openQuestion", { name })}</span>{" "}
      {talk.waiting > 1 && <span className="text-muted-foreground">{plain(item.text)}</span>}
      {talk.waiting === 1 && takesWords(item) && item.choices.length > 0 && <Labels item={item} draft={draft} />}
    </Line>
  );
}

function Line({ children, action, warning = false }: { children: ReactNode; action?: ReactNode; warning?: boolean }) {
  return (
    <div className={cn("flex items-center gap-2 text-sm", warning && "rounded-md bg-warning-soft px-2 py-1.5 text-warning")}>
      <CircleHelp className="size-4 shrink-0" aria-hidden />
      <p role="status" className="line-clamp-2 min-w-0 flex-1 [overflow-wrap:anywhere]">
        {children}
      </p>
      {action}
    </div>
  );
}

function Labels({ item, draft }: { item: Item; draft: Draft }) {
  const t = useT();
  const labels = item.choices.flatMap((_, index) => draft.chosen[index] ?? []);
  return labels.length > 0 && <span className="text-muted-foreground">{t("chosen", { labels: labels.join(", ") })}</span>;
}

/** Where nothing but options is an answer: which were chosen. */
function Chosen({ item, draft }: { item: Item; draft: Draft }) {
  const t = useT();
  const none = !isReady(item, draft);
  return (
    <p className="line-clamp-3 min-h-10 min-w-0 flex-1 content-center text-sm text-muted-foreground [overflow-wrap:anywhere]">
      {none ? t("chooseOption") : <Labels item={item} draft={draft} />}
    </p>
  );
}

/** Whether the answer is sent from the box; what needs no words has its buttons above. */
function isAnsweredHere(item: Item, draft: Draft): boolean {
  return hasWords(draft) || (item.kind === "question" && !item.choices.length);
}

function KeptButtons({ name, draft, writeIt }: { name: string; draft: Draft; writeIt: () => void }) {
  const t = useT();
  const copy = useCopy();
  return (
    <div className="flex flex-wrap justify-end gap-2">
      <Button variant="ghost" size="sm" onClick={() => takeDraft(name)}>
        <Trash2 />
        {t("discard")}
      </Button>
      <Button variant="outline" size="sm" onClick={() => void copy(draft.text)}>
        <Copy />
        {t("copy")}
      </Button>
      <Button size="sm" onClick={writeIt}>
        <SendHorizontal />
        {t("sendAsMessage")}
      </Button>
    </div>
  );
}
