import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { cn } from "@/lib/utils";

// Raw HTML is shown as the text it is; pictures from elsewhere are not fetched, they are linked.
const components: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  img: ({ src, alt }) =>
    typeof src === "string" && src.startsWith("data:image/") ? (
      <img src={src} alt={alt ?? ""} className="max-h-80 max-w-full rounded-md" />
    ) : (
      <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener">
        {alt || (typeof src === "string" ? src : "")}
      </a>
    ),
};
components.input = ({ checked }) => <span>{checked ? "☑" : "☐"}</span>;
const plugins = [remarkGfm];

export const Markdown = memo(function Markdown({ text, className }: { text: string; className?: string }) {
  return (
    <div className={cn("markdown text-[15px] leading-relaxed", className)}>
      <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={allowed}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

function allowed(url: string): string {
  if (/^data:image\/(png|jpeg|gif|webp);base64,/i.test(url)) return url;
  return /^(https?:|mailto:|#)/i.test(url) ? url : "";
}
