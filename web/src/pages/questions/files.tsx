import { FileText, Paperclip, X } from "lucide-react";
import type { ClipboardEvent } from "react";
import { toast } from "@/components/ui/toast";
import { type Attached, changeDraft } from "@/lib/assistant/drafts";
import { useT } from "@/lib/i18n";
import { MOST_AT_ONCE, largestFile } from "@/lib/limits";
import { inBytes, onceKey } from "@/lib/utils";

/** Bytes in a frame: pictures go as base64. */
function sizeOf(file: File): number {
  return file.type.startsWith("image/") ? Math.ceil(file.size / 3) * 4 : file.size;
}

async function attached(file: File): Promise<Attached> {
  const data = new Uint8Array(await file.arrayBuffer());
  const about = { id: onceKey(), name: file.name, size: sizeOf(file) };
  if (!file.type.startsWith("image/")) {
    const uri = `attachment://file/${encodeURIComponent(file.name)}`;
    const mimeType = file.type || "application/octet-stream";
    return { ...about, content: { type: 4, embeddedResource: { uri, mimeType, data } }, picture: undefined };
  }
  let text = "";
  for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
  const encoded = btoa(text);
  const picture = `data:${file.type};base64,${encoded}`;
  return { ...about, content: { type: 2, image: { data: encoded, mimeType: file.type } }, picture };
}

/** Adds files to a draft: none that the agent would not be given, and no more than one frame holds. */
export function useAddFiles(draft: string, files: readonly Attached[]) {
  const t = useT();
  const add = async (chosen: Iterable<File>) => {
    let sum = files.reduce((all, file) => all + file.size, 0);
    for (const file of chosen) {
      if (file.size > largestFile()) {
        toast(t("fileTooLarge", { name: file.name, most: inBytes(largestFile()) }), { bad: true });
      } else if (sum + sizeOf(file) > MOST_AT_ONCE) {
        toast(t("filesTooLarge", { name: file.name, most: inBytes(MOST_AT_ONCE) }), { bad: true });
      } else {
        sum += sizeOf(file);
        try {
          const made = await attached(file);
          changeDraft(draft, (before) => ({ files: [...before.files, made] }));
        } catch {
          toast(t("fileUnreadable", { name: file.name }), { bad: true });
        }
      }
    }
  };
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length) {
      event.preventDefault();
      void add([...event.clipboardData.files]);
    }
  };
  return { add, paste };
}

export function Files({ files, remove }: { files: readonly Attached[]; remove: (file: Attached) => void }) {
  const t = useT();
  if (!files.length) return null;
  return (
    <ul className="flex max-h-28 flex-wrap gap-2 overflow-y-auto">
      {files.map((file) => (
        <li key={file.id} className="flex items-center gap-1.5 rounded-lg border bg-surface p-1.5 text-xs">
          {file.picture ? <img src={file.picture} alt="" className="h-10 rounded" /> : <FileText className="size-4" />}
          <span className="max-w-32 truncate">{file.name}</span>
          <button type="button" aria-label={t("removeFile", { name: file.name })} onClick={() => remove(file)}>
            <X className="size-4" />
          </button>
        </li>
      ))}
    </ul>
  );
}

export function AddFile({ add }: { add: (files: Iterable<File>) => void }) {
  const t = useT();
  return (
    <label
      title={t("addFile")}
      className="relative flex size-10 cursor-pointer items-center justify-center rounded-md hover:bg-muted has-focus-visible:outline-2 has-focus-visible:outline-ring"
    >
      <Paperclip className="size-4" aria-hidden />
      <span className="sr-only">{t("addFile")}</span>
      <input
        type="file"
        multiple
        className="sr-only"
        onChange={(event) => {
          add([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
    </label>
  );
}
