import { Watched } from "@/lib/watched";

/** The words whose first hit gets the focus once it is there: somebody pressed Enter behind them. */
export const entered = new Watched<string | undefined>(undefined);
