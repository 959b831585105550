import { KeyRound } from "lucide-react";
import { useId, useState } from "react";
import { Button } from "@/components/ui/button";
import { Input, Label } from "@/components/ui/input";
import { assistant, useAssistant } from "@/lib/assistant/store";
import { useT } from "@/lib/i18n";
import { isApp } from "@/lib/installing";
import { go } from "@/lib/router";
import { enterWith, token, tokenEnding } from "@/lib/token";
import { notOnlySpaces } from "@/lib/utils";

/** Under what name a person answers, and with which token. */
export function You() {
  const t = useT();
  const id = useId();
  const { refused, called } = useAssistant();
  const [name, setName] = useState(() => assistant.nickname());
  const [changing, setChanging] = useState(false);
  return (
    <div className="flex shrink-0 flex-col gap-1 border-t px-4 py-2">
      <div className="flex items-center gap-2">
        <Label htmlFor={id} className="shrink-0">
          {t("yourName")}
        </Label>
        <Input
          id={id}
          value={name}
          placeholder={called}
          maxLength={60}
          aria-describedby={`${id}h`}
          className="h-8 min-w-0"
          onChange={(event) => setName(event.target.value)}
          onBlur={() => name.trim() !== assistant.nickname() && assistant.setNickname(name)}
          onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
        />
      </div>
      <p id={`${id}h`} className="text-xs text-muted-foreground">
        {t("yourNameHint")}
      </p>
      {!refused && (
        <div className="flex items-center gap-1.5 text-xs text-muted-foreground">
          <KeyRound className="size-3.5 shrink-0" aria-hidden />
          <span className="min-w-0 flex-1 truncate" data-token>
            {token() ? t("onToken", { end: tokenEnding() }) : t("onNoToken")}
          </span>
          <Button variant="ghost" size="sm" className="h-7" aria-expanded={changing} onClick={() => setChanging(!changing)}>
            {t("changeToken")}
          </Button>
        </div>
      )}
      {changing && !refused && <TokenField />}
    </div>
  );
}

/** Asks for the token whose questions are shown. */
export function TokenField({ refused }: { refused?: string }) {
  const t = useT();
  const id = useId();
  const [text, setText] = useState("");
  return (
    <form
      className={refused ? "flex flex-col gap-2.5 p-4" : "flex flex-col gap-1.5 pb-1"}
      onSubmit={(event) => {
        event.preventDefault();
        if (!refused) go("questions"); // the open conversation is one of this token's
        enterWith(text);
      }}
    >
      {refused && (
        <>
          <p className="text-sm text-muted-foreground">{t("questionsTokenWanted")}</p>
          <p className="text-sm text-muted-foreground">{t(isApp() ? "tokenKeptByApp" : "tokenKeptByTab")}</p>
        </>
      )}
      <Label htmlFor={id}>{t("token")}</Label>
      <div className="flex gap-2">
        <Input
          id={id}
          type="password"
          autoComplete="off"
          autoFocus={refused === undefined} // somebody has just asked for the field
          required
          ref={notOnlySpaces(text, t("onlySpaces"))}
          value={text}
          className="min-w-0"
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit">{t("enter")}</Button>
      </div>
      {refused && token() && (
        <p role="alert" className="text-sm text-destructive">
          {t("tokenWrongEnding", { end: tokenEnding() })}
        </p>
      )}
    </form>
  );
}
