// The pages that there are, in the order in which they are shown; each is there where the hub has it.

import { boxes } from "@/pages/boxes";
import { groups } from "@/pages/groups";
import { io } from "@/pages/io";
import { mail } from "@/pages/mail";
import { questions } from "@/pages/questions";
import { statistics } from "@/pages/statistics";
import { system } from "@/pages/system";

export const PAGES = [groups, questions, mail, boxes, io, statistics, system] as const;

export type AnyPage = (typeof PAGES)[number];
