import { Languages, Moon, Sun, SunMoon } from "lucide-react";
import { Install } from "@/components/Install";
import { Button } from "@/components/ui/button";
import { setLanguage, useLanguage, useT } from "@/lib/i18n";
import { setTheme, useTheme } from "@/lib/theme";

/** Of the colours, of the language, and of a place for the page on this device. */
export function Choices() {
  const t = useT();
  const theme = useTheme();
  const language = useLanguage();
  const next = theme === "system" ? "light" : theme === "light" ? "dark" : "system";
  const title = t("themeIs", { theme: t(`theme_${theme}`) });
  return (
    <>
      <Button variant="ghost" size="icon" aria-label={title} title={title} onClick={() => setTheme(next)}>
        {theme === "system" ? <SunMoon /> : theme === "light" ? <Sun /> : <Moon />}
      </Button>
      <Button
        variant="ghost"
        size="icon"
        aria-label={t("language")}
        title={t("language")}
        onClick={() => setLanguage(language === "zh" ? "en" : "zh")}
      >
        <Languages />
      </Button>
      <Install />
    </>
  );
}
