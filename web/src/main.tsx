import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/App";
import { startDrafts as startAnswers } from "@/lib/assistant/drafts";
import { startDrafts } from "@/lib/drafts";
import { startWords } from "@/lib/i18n";
import { startInstalling } from "@/lib/installing";
import { startTheme } from "@/lib/theme";
import { takeToken } from "@/lib/token";
import { PAGES } from "@/pages";
import "@/index.css";

takeToken();
startAnswers();
startDrafts();
startTheme();
startWords(PAGES);
startInstalling();
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
