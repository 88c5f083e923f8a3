/** A command line as people write it ↔ the program and its arguments. No shell is behind it. */

interface Command {
  command: string;
  args: string[];
}

type CommandProblem = "empty" | "openQuote";

const PLAIN = /^[\w@%+=:,./~{}-]+$/;
const ESCAPABLE_IN_QUOTES = '"\\$`';

/** The words of a line, as a POSIX shell would split them; nothing is filled in. */
export function parseCommandLine(line: string): Command | CommandProblem {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    if (quote !== null) {
      if (char === quote) quote = null;
      else if (char === "\\" && quote === '"' && isEscapable(line.charAt(at + 1))) {
        at += 1;
        word = (word ?? "") + line.charAt(at);
      } else word = (word ?? "") + char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === "\\" && at + 1 < line.length) {
      at += 1;
      if (line.charAt(at) !== "\n") word = (word ?? "") + line.charAt(at);
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + char;
  }
  if (quote !== null) return "openQuote";
  if (word !== null) words.push(word);
  const [command, ...args] = words;
  return command === undefined || command === "" ? "empty" : { command, args };
}

/** A line that is read as exactly these words. */
export function formatCommandLine({ command, args }: Command): string {
  return [command, ...args].map(quoted).join(" ");
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function isEscapable(char: string): boolean {
  return char !== "" && ESCAPABLE_IN_QUOTES.includes(char);
}
