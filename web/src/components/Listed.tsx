import type { ReactNode } from "react";
import { Loaded } from "@/components/Loaded";
import { More } from "@/components/More";
import type { Page, Pages } from "@/lib/data";

/** A list that the hub gives page by page, an item after the other, and at its end how many more there are. */
export function Listed<P extends Page, T>(props: {
  data: Pages<P>;
  items: (page: P) => T[];
  empty: ReactNode;
  children: (item: T) => ReactNode;
}) {
  return (
    <Loaded data={props.data}>
      {(pages) => {
        const items = pages.flatMap(props.items);
        if (!items.length) return props.empty;
        return (
          <>
            <ul>{items.map(props.children)}</ul>
            <More of={props.data} />
          </>
        );
      }}
    </Loaded>
  );
}
