// The tests in a text, found without running it, and the messages of `squall test --json`. Nothing here knows the editor.

/** A test, or a context with tests; lines count from 0. */
export interface Found {
  name: string;
  line: number;
  tests: Found[];
}

const CLASS = /^\s*(?:public\s+|protected\s+|private\s+)?class\s+([A-Za-z_]\w*)/;
const TEST = /^\s*(?:public\s+|protected\s+|private\s+)?(test\w*)\s*=\s*\(/;
const FACTORY = /usingPlatform:\s*\w+\s+testFramework:/;

/** The contexts of a test module; none if the text is no test module. */
export function testsIn(text: string): Found[] {
  const plain = withoutCommentsAndStrings(text);
  if (!FACTORY.test(plain)) return [];
  const contexts: Found[] = [];
  plain.split("\n").forEach((line, number) => {
    const name = CLASS.exec(line)?.[1];
    if (name) contexts.push({ name, line: number, tests: [] });
    const test = TEST.exec(line)?.[1];
    if (test) contexts.at(-1)?.tests.push({ name: test, line: number, tests: [] });
  });
  return contexts.filter((context) => context.tests.length > 0);
}

/** The text with blanks in place of comments, strings and characters; line ends stay. */
export function withoutCommentsAndStrings(text: string): string {
  let result = "";
  let index = 0;
  const blank = (end: number) => {
    result += text.slice(index, end).replace(/[^\n]/g, " ");
    index = end;
  };
  while (index < text.length) {
    if (text.startsWith("(*", index)) {
      let depth = 1;
      let end = index + 2;
      while (end < text.length && depth > 0) {
        const two = text.slice(end, end + 2);
        depth += two === "(*" ? 1 : two === "*)" ? -1 : 0;
        end += two === "(*" || two === "*)" ? 2 : 1;
      }
      blank(end);
    } else if (text[index] === "'") {
      let end = index + 1;
      while (end < text.length && (text[end] !== "'" || text[end + 1] === "'")) end += "\\'".includes(text[end]) ? 2 : 1;
      blank(Math.min(end + 1, text.length));
    } else if (text[index] === '"') {
      const length = /^"(?:""|[^"])"/.exec(text.slice(index, index + 4))?.[0].length ?? 1;
      blank(index + length);
    } else {
      result += text[index++];
    }
  }
  return result;
}

/** A line of `squall test --json`. */
export interface Event {
  event: "begin" | "test" | "summary" | string;
  name?: string;
  outcome?: string;
  message?: string | null;
  microseconds?: number;
  [more: string]: unknown;
}

/** Splits output into lines, which may come in pieces, and answers those that are events. Other lines are the program's. */
export class Events {
  private rest = "";

  add(piece: string): { events: Event[]; others: string[] } {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    const events: Event[] = [];
    const others: string[] = [];
    for (const line of lines) {
      const event = eventOf(line);
      if (event) events.push(event);
      else others.push(line);
    }
    return { events, others };
  }
}

function eventOf(line: string): Event | undefined {
  if (!line.startsWith('{"event":')) return undefined;
  try {
    return JSON.parse(line) as Event;
  } catch {
    return undefined;
  }
}

/** The place that a message names first, such as `at A>>b (c.ns:3:4)`; lines and columns count from 0. */
export function placeIn(message: string): { file: string; line: number; column: number } | undefined {
  const found = /\(([^():]+\.ns):(\d+):(\d+)\)/.exec(message);
  return found ? { file: found[1], line: Number(found[2]) - 1, column: Number(found[3]) - 1 } : undefined;
}
