export function Logo() {
  return (
    <svg viewBox="0 0 32 32" className="size-7 shrink-0" aria-hidden>
      <rect width="32" height="32" rx="8" fill="#0f766e" />
      <path d="M7 10a3 3 0 0 1 3-3h9a3 3 0 0 1 3 3v4a3 3 0 0 1-3 3h-6l-4 3v-3.2A3 3 0 0 1 7 14z" fill="#fff" />
      <path d="M24 13a3 3 0 0 1 2 2.8V20a3 3 0 0 1-2 2.8V26l-4-3h-5a3 3 0 0 1-2.7-1.7L14 20h6a4 4 0 0 0 4-4z" fill="#99f6e4" />
    </svg>
  );
}
