import { useEffect, useState } from "react";
import { Problem } from "@/components/common";
import { ApiError } from "@/lib/api";

/** Milliseconds. */
const A_MOMENT = 1500;
const NO_ANSWER = new ApiError(0, "unreachable", "", "");

/** Says what to do once the line to the hub has been broken for longer than a moment. */
export function Away({ broken }: { broken: boolean }) {
  const [long, setLong] = useState(false);
  useEffect(() => {
    if (!broken) return;
    const timer = setTimeout(() => setLong(true), A_MOMENT);
    return () => {
      clearTimeout(timer);
      setLong(false);
    };
  }, [broken]);
  return (
    broken &&
    long && (
      <div data-away>
        <Problem error={NO_ANSWER} />
      </div>
    )
  );
}
