import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { formatCommandLine, parseCommandLine } from "./commandLine";

describe("a command line", () => {
  it.each([
    ["npx -y @scope/server /srv/data", ["npx", "-y", "@scope/server", "/srv/data"]],
    ["  spaced \t out  \n", ["spaced", "out"]],
    [`run "two words" 'three more words'`, ["run", "two words", "three more words"]],
    [`run --name="a b"c`, ["run", "--name=a bc"]],
    [`run a\\ b \\"q`, ["run", "a b", '"q']],
    [`run "say \\"hi\\" \\n"`, ["run", 'say "hi" \\n']],
    [`run 'no \\ escape'`, ["run", "no \\ escape"]],
    [`run '' ""`, ["run", "", ""]],
    ["run a\\\n b", ["run", "a", "b"]],
    [
      "run $HOME; rm `x` | y && z > f",
      ["run", "$HOME;", "rm", "`x`", "|", "y", "&&", "z", ">", "f"],
    ],
    ["files {folder} --as={name}", ["files", "{folder}", "--as={name}"]],
  ])("%j is split as a shell would, and nothing is run or filled in", (line, words) => {
    const [command, ...args] = words;
    expect(parseCommandLine(line)).toEqual({ command, args });
  });

  it.each(["", "   ", "''", '"" --option'])("%j names no program", (line) => {
    expect(parseCommandLine(line)).toBe("empty");
  });

  it.each([`run "open`, `run 'it`, `'`])("%j has an open quote", (line) => {
    expect(parseCommandLine(line)).toBe("openQuote");
  });

  it("is read back as exactly the words it was written from", () => {
    const word = fc.string({ minLength: 1, unit: "grapheme" });
    fc.assert(
      fc.property(word, fc.array(fc.string()), (command, args) => {
        expect(parseCommandLine(formatCommandLine({ command, args }))).toEqual({ command, args });
      }),
    );
  });

  it("stays readable where no quotes are needed", () => {
    const line = "mcp-server-filesystem {folder} --tz=Europe/Berlin";
    const parsed = parseCommandLine(line);
    expect(typeof parsed === "string" ? parsed : formatCommandLine(parsed)).toBe(line);
  });
});
