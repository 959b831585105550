import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/App";
import { startDrafts as startAnswers } from "@/lib/assistant/drafts";
import { startDrafts } from "@/lib/drafts";
import { startInstalling } from "@/lib/installing";
import { startTheme } from "@/lib/theme";
import { takeToken } from "@/lib/token";
import "@/index.css";

takeToken();
startAnswers();
startDrafts();
startTheme();
startInstalling();
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
