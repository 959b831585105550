import { FileText } from "lucide-react";
import type { WireContent } from "@/lib/assistant/socket";
import { Folded } from "@/pages/questions/Folded";

/** Pages send a name as a part of a URI, other programs as it is. */
function fileName(uri: string): string {
  const name = uri.split("/").at(-1) ?? "";
  try {
    return uri.includes("://") ? decodeURIComponent(name) : name;
  } catch {
    return name;
  }
}

export function Contents({ contents, whole }: { contents: readonly WireContent[]; whole: boolean }) {
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
        ) : each.audio ? (
          <audio key={index} controls src={`data:${each.audio.mimeType};base64,${each.audio.data}`} className="mt-1 max-w-full" />
        ) : each.embeddedResource ? (
          <p key={index} className="flex items-center gap-1.5 text-sm">
            <FileText className="size-4" aria-hidden />
            {fileName(each.embeddedResource.uri)}
          </p>
        ) : each.text ? (
          <Folded key={index} text={each.text.text} whole={whole} />
        ) : null,
      )}
    </>
  );
}
