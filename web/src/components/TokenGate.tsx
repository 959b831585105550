import { KeyRound } from "lucide-react";
import { useState } from "react";
import { Choices } from "@/components/Choices";
import { Logo } from "@/components/Logo";
import { Button } from "@/components/ui/button";
import { Input, Label } from "@/components/ui/input";
import { useT } from "@/lib/i18n";
import { isApp } from "@/lib/installing";
import { enterWith, token } from "@/lib/token";
import { notOnlySpaces } from "@/lib/utils";

interface Props {
  /** Whether the hub knows the token, as one that opens no page. */
  ofProgram?: boolean;
}

/** What is there instead of the pages while the hub wants a token. */
export function TokenGate({ ofProgram = false }: Props) {
  const t = useT();
  const [text, setText] = useState("");
  return (
    <main className="flex h-dvh items-center justify-center p-4">
      <form
        className="flex w-full max-w-sm flex-col gap-3 rounded-xl border bg-surface p-6 shadow-sm"
        onSubmit={(event) => {
          event.preventDefault();
          enterWith(text);
        }}
      >
        <div className="flex items-center gap-3">
          <Logo />
          <h1 className="flex-1 font-semibold whitespace-nowrap sm:text-lg">nanobot-transcript</h1>
          <Choices />
        </div>
        <p className="text-sm text-muted-foreground">{t("tokenWanted")}</p>
        <p className="text-sm text-muted-foreground">{t(isApp() ? "tokenKeptByApp" : "tokenKeptByTab")}</p>
        <Label htmlFor="token">{t("token")}</Label>
        <Input
          id="token"
          type="password"
          autoComplete="off"
          autoFocus
          required
          ref={notOnlySpaces(text, t("onlySpaces"))}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {token() && (
          <p role="alert" className="text-sm text-destructive">
            {t(ofProgram ? "tokenOfProgram" : "tokenWrong")}
          </p>
        )}
        <Button type="submit">
          <KeyRound />
          {t("enter")}
        </Button>
      </form>
    </main>
  );
}
