// How large files may be.

let largest = 8 * 1024 * 1024;

/** Bytes of all files of one answer, as they go over the line; the hub takes frames of 64 MiB. */
export const MOST_AT_ONCE = 60 * 1024 * 1024;

/** The largest file, in bytes, that agents are given. */
export function largestFile(): number {
  return largest;
}

export function setLargestFile(bytes: number | undefined): void {
  if (bytes) largest = bytes;
}
