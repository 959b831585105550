import type { ReactNode } from "react";
import { Loading, Problem } from "@/components/common";
import type { Data } from "@/lib/data";

/** What the hub answered. When asking again fails, that is told above what is known already. */
export function Loaded<T>({ data, children }: { data: Data<T>; children: (value: T) => ReactNode }) {
  return (
    <>
      {data.error && <Problem error={data.error} retry={data.reload} />}
      {data.value !== undefined ? children(data.value) : !data.error && <Loading />}
    </>
  );
}
