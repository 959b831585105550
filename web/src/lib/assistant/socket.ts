// The WebSocket of Agent Assistant: binary frames of one kind, again after every break.

import { type DescMessage, create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { fileDesc } from "@bufbuild/protobuf/codegenv2";
import { DESCRIPTOR } from "@/lib/assistant/descriptor";
import { token } from "@/lib/token";

export interface WireContent {
  type: number;
  text?: { text: string };
  image?: { data: string; mimeType: string };
  audio?: { data: string; mimeType: string };
  embeddedResource?: { uri: string; mimeType: string; data: Uint8Array };
}
export interface WireChoice {
  question: string;
  header: string;
  options: { label: string; description: string }[];
  multiple: boolean;
  custom: boolean;
}
export interface WireRequest {
  ID: string;
  Timestamp: bigint;
  Request?: {
    ProjectDirectory: string;
    Question?: string;
    Summary?: string;
    Timeout: number;
    AgentName: string;
    ReasoningModelName: string;
    McpClientName: string;
    Questions?: WireChoice[];
    NotifyOnly?: boolean;
  };
}
interface WireResponse {
  ID: string;
  IsError: boolean;
  contents: WireContent[];
}
interface WireMessage {
  id: string;
  projectDirectory: string;
  agentName: string;
  text: string;
  contents: WireContent[];
  nickname: string;
  writtenAt: bigint;
  state: string;
  pickedUpAt: bigint;
}
export interface WireRecord {
  kind: string;
  id: string;
  seq: bigint;
  askQuestionRequest?: WireRequest;
  workReportRequest?: WireRequest;
  message?: WireMessage;
  state: string;
  answeredBy: string;
  answeredWhere: string;
  askedAt: bigint;
  endedAt: bigint;
  contents: WireContent[];
}
export interface Frame {
  Cmd: string;
  AskQuestionRequest?: WireRequest;
  WorkReportRequest?: WireRequest;
  AskQuestionResponse?: WireResponse;
  WorkReportResponse?: WireResponse;
  StrParam?: string;
  Nickname?: string;
  RequestCancelledNotification?: { requestId: string; reason: string };
  UserLoginResponse?: { success: boolean; errorMessage: string; serverTime: bigint };
  GetHistoryRequest?: {
    text: string;
    projectDirectory?: string;
    agentName?: string;
    before: bigint;
    limit: number;
    ids: string[];
    wordsOnly: boolean;
  };
  GetHistoryResponse?: { records: WireRecord[]; nextBefore: bigint };
  AgentMessage?: Partial<WireMessage>;
  ErrorNotification?: { code: string; message: string; cmd: string };
  CheckMessageValidityRequest?: { requestIds: string[] };
  CheckMessageValidityResponse?: { validity: Record<string, boolean> };
}

const file = fileDesc(DESCRIPTOR);
const schema = file.messages.find((message) => message.name === "WebsocketMessage") as DescMessage;
/** The hub's name for who needs no token. */
const LOCAL = "local";
/** Codes with which the hub ends a line for what came over it: not understood, too large. */
const REFUSED = [1007, 1009];
const SHORTEST = 500;
const LONGEST = 15_000;
/** After so long without a word the hub is asked for one, and has so long to say it. */
const QUIET = 30_000;
const SILENT = 10_000;
const MOST_PATIENT = 60_000;

export class Socket {
  private socket: WebSocket | undefined;
  private pause = SHORTEST;
  private patience = SILENT;
  private quiet: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly nickname: () => string,
    private readonly heard: (frame: Frame) => void,
    private readonly became: (open: boolean) => void,
    private readonly refused: () => void,
  ) {
    this.open();
    addEventListener("online", () => !this.socket && this.open());
  }

  /** False when the line is broken. */
  send(frame: Frame): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(toBinary(schema, create(schema, frame as never)) as Uint8Array<ArrayBuffer>);
    return true;
  }

  /** Says who this is; again after the name has changed. */
  login(): void {
    this.send({ Cmd: "UserLogin", StrParam: token() || LOCAL, Nickname: this.nickname() });
  }

  /** Asks which of these wait for an answer. A line on which nothing comes back is broken, though nobody has said so. */
  check(requestIds: string[]): void {
    this.expectWord();
    this.send({ Cmd: "CheckMessageValidity", CheckMessageValidityRequest: { requestIds } });
  }

  /** Everything is well with the hub: after the next break it is tried again soon. */
  steady(): void {
    this.pause = SHORTEST;
    this.patience = SILENT;
  }

  /** Ends this line; another one comes after the usual pause. */
  restart(): void {
    const { socket } = this;
    socket?.close(); // may take long where nobody answers
    if (socket) this.ended(socket);
  }

  /** Something came, or the line is new: what the hub owed it has said. */
  private heardWord(): void {
    clearTimeout(this.silence);
    clearTimeout(this.quiet);
    this.silence = undefined;
    this.quiet = setTimeout(() => this.check([]), QUIET);
  }

  private expectWord(patience = this.patience): void {
    const { socket } = this;
    if (!socket) return;
    const left = socket.bufferedAmount;
    this.silence ??= setTimeout(() => {
      this.silence = undefined;
      if (socket.bufferedAmount < left) return this.expectWord(patience); // much is on its way, on a slow line
      this.patience = Math.min(this.patience * 2, MOST_PATIENT); // what the hub says may be much, too
      this.restart();
    }, patience);
  }

  private ended(socket: WebSocket): void {
    if (this.socket !== socket) return;
    this.socket = undefined;
    clearTimeout(this.silence);
    clearTimeout(this.quiet);
    this.silence = undefined;
    this.became(false);
    setTimeout(() => this.socket ?? this.open(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, LONGEST);
  }

  private open(): void {
    const address = new URL("./ws", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    address.hash = "";
    const socket = new WebSocket(address);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    this.expectWord(SILENT);
    socket.onopen = () => this.socket === socket && this.login();
    socket.onmessage = (event) => {
      if (!(event.data instanceof ArrayBuffer) || this.socket !== socket) return;
      this.heardWord();
      const frame = fromBinary(schema, new Uint8Array(event.data)) as unknown as Frame;
      if (frame.Cmd === "UserLogin") this.became(frame.UserLoginResponse?.success ?? false);
      this.heard(frame);
    };
    socket.onclose = (event) => {
      const refused = this.socket === socket && REFUSED.includes(event.code);
      this.ended(socket);
      if (refused) this.refused();
    };
  }
}
