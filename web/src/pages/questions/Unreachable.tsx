import { useEffect, useState } from "react";
import { Problem } from "@/components/common";
import { ApiError } from "@/lib/api";
import { useAssistant } from "@/lib/assistant/store";

/** Milliseconds. */
const A_MOMENT = 1500;
const NO_ANSWER = new ApiError(0, "unreachable", "", "");

/** Says what to do once the line has been broken for longer than a moment. */
export function Unreachable() {
  const { open, known, refused } = useAssistant();
  const [long, setLong] = useState(false);
  const broken = known && !open && !refused;
  useEffect(() => {
    if (!broken) return;
    const timer = setTimeout(() => setLong(true), A_MOMENT);
    return () => {
      clearTimeout(timer);
      setLong(false);
    };
  }, [broken]);
  return broken && long && <Problem error={NO_ANSWER} />;
}
