import { FileText, Paperclip, X } from "lucide-react";
import { type ClipboardEvent, useState } from "react";
import { toast } from "@/components/ui/toast";
import type { WireContent } from "@/lib/assistant/socket";
import { useT } from "@/lib/i18n";
import { onceKey } from "@/lib/utils";

const LARGEST = 10 * 1024 * 1024;

interface Attached {
  id: string;
  name: string;
  content: WireContent;
  picture: string | undefined;
}

async function attached(file: File): Promise<Attached> {
  const data = new Uint8Array(await file.arrayBuffer());
  const id = onceKey();
  if (!file.type.startsWith("image/")) {
    const uri = `attachment://file/${encodeURIComponent(file.name)}`;
    const mimeType = file.type || "application/octet-stream";
    return { id, name: file.name, content: { type: 4, embeddedResource: { uri, mimeType, data } }, picture: undefined };
  }
  let text = "";
  for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
  const encoded = btoa(text);
  const picture = `data:${file.type};base64,${encoded}`;
  return { id, name: file.name, content: { type: 2, image: { data: encoded, mimeType: file.type } }, picture };
}

export function useFiles() {
  const t = useT();
  const [files, setFiles] = useState<Attached[]>([]);
  const add = async (chosen: Iterable<File>) => {
    for (const file of chosen) {
      if (file.size > LARGEST) toast(t("fileTooLarge", { name: file.name }), { bad: true });
      else {
        const made = await attached(file);
        setFiles((before) => [...before, made]);
      }
    }
  };
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length) {
      event.preventDefault();
      void add([...event.clipboardData.files]);
    }
  };
  const remove = (gone: Attached) => setFiles((before) => before.filter((each) => each !== gone));
  const clear = () => setFiles([]);
  return { files, add, paste, remove, clear };
}

export function Files({ files, remove }: { files: Attached[]; remove: (file: Attached) => void }) {
  const t = useT();
  if (!files.length) return null;
  return (
    <ul className="flex flex-wrap gap-2">
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
      className="flex size-10 cursor-pointer items-center justify-center rounded-md hover:bg-muted has-focus-visible:outline-2 has-focus-visible:outline-ring"
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
