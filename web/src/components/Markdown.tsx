import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { type ReactNode, memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import { Code } from "@/components/Code";
import { cn } from "@/lib/utils";

// Raw HTML is shown as the text it is; pictures from elsewhere are not fetched, they are linked.
const components: Components = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) =>
    typeof src === "string" && src.startsWith("data:image/") ? (
      <img src={src} alt={alt ?? ""} className="max-h-80 max-w-full rounded-md" />
    ) : (
      <Link href={typeof src === "string" ? src : undefined}>{alt || (typeof src === "string" ? src : "")}</Link>
    ),
};
components.pre = ({ node, children }) => {
  const [code] = node?.children ?? [];
  if (code?.type !== "element" || code.tagName !== "code") return <pre>{children}</pre>;
  const [text] = code.children;
  return <Code code={text?.type === "text" ? text.value.replace(/\n$/, "") : ""} language={languageOf(code.properties.className)} />;
};
components.input = ({ checked }) => <span>{checked ? "☑" : "☐"}</span>;
const plugins = [readGfm, keepLines];

interface Node {
  type: string;
  value?: string;
  children?: Node[];
}

/** The language that is named where a piece of code begins; nothing where none is. */
function languageOf(classes: unknown): string {
  const named = Array.isArray(classes) ? classes.map(String).find((each) => each.startsWith("language-")) : undefined;
  return named?.slice("language-".length).toLowerCase() ?? "";
}

/** Tables, tasks, bare addresses and the like: what remark-gfm does, without what would write them. */
function readGfm(this: { data: () => object }): void {
  Object.assign(this.data(), { micromarkExtensions: [gfm()], fromMarkdownExtensions: [gfmFromMarkdown()] });
}

/** Lines are shown as they were typed, which Markdown itself would join. Raw HTML is text here, too. */
function keepLines() {
  const inLines = (node: Node): Node[] => {
    if (node.type !== "text" && node.type !== "html") return [withLines(node)];
    const lines = (node.value ?? "").split(/\r\n|\r|\n/);
    return lines.flatMap((value, at) => [...(at ? [{ type: "break" }] : []), { type: "text", value }]);
  };
  const withLines = (node: Node): Node => {
    if (node.children) node.children = node.children.flatMap(inLines);
    return node;
  };
  return (tree: Node) => void withLines(tree);
}

export const Markdown = memo(function Markdown({ text, className }: { text: string; className?: string }) {
  return <div className={cn("markdown text-[15px] leading-relaxed", className)}>{read(text)}</div>;
});

/** A text that is nested too deeply to be read is shown as it was typed: nobody's words take the page away. */
function read(text: string): ReactNode {
  try {
    return ReactMarkdown({ remarkPlugins: plugins, components, urlTransform: allowed, children: text });
  } catch {
    return <p className="whitespace-pre-wrap">{text}</p>;
  }
}

function Link({ href, children }: { href: string | undefined; children: ReactNode }) {
  if (!href) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

/** Nothing leads to pages of a hub: what agents write could take whoever follows it there under another token. */
function allowed(url: string): string {
  if (/^data:image\/(png|jpeg|gif|webp);base64,/i.test(url)) return url;
  if (/^mailto:/i.test(url)) return url;
  return /^https?:/i.test(url) && URL.canParse(url) && !isOfHub(new URL(url)) ? url : "";
}

function isOfHub(url: URL): boolean {
  if (url.host === location.host) return true;
  const inHash = new URLSearchParams(url.hash.split("?")[1] ?? "");
  return url.searchParams.has("token") || inHash.has("token");
}
