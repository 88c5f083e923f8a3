import { describe, expect, test } from "vitest";

import { ApiError } from "@/api/client";

import { blamedFile, FileRefused, lookAt, suggestedName } from "./files";

const file = (name: string, size = 3) => new File(["x".repeat(size)], name);

describe("lookAt", () => {
  test("what can be a table passes", () => {
    const files = ["a.csv", "B.XLSX", "c.parquet"].map((name) => file(name));
    expect(lookAt(files, 10).map((each) => each.problem)).toEqual([null, null, null]);
  });

  test("each file has its own problem", () => {
    const files = [
      file("a.pdf"),
      file("b.csv", 11),
      file("c.csv", 0),
      file("d.csv"),
      file("D.CSV"),
    ];
    expect(lookAt(files, 10).map((each) => each.problem)).toEqual([
      "kind",
      "size",
      "empty",
      null,
      "twice",
    ]);
  });
});

test.each([
  ["Sales 2024 (final).xlsx", "Sales_2024_final"],
  ["销售数据.csv", "销售数据"],
  ["archive.tar.csv", "archive_tar"],
  ["../../x.csv", "x"],
  [`${"a".repeat(100)}.csv`, "a".repeat(64)],
])("a source of %s is called %s", (name, expected) => {
  expect(suggestedName([file(name)])).toBe(expected);
});

describe("blamedFile", () => {
  const files = [file("a.csv"), file("b.csv")];
  const refused = (message: string, details: unknown = null) =>
    new ApiError(422, "bad_input", message, details);

  test("the file that was not taken", () => {
    const error = new FileRefused("b.csv", refused("It is not a CSV."));
    expect(blamedFile(error, files)).toBe("b.csv");
    expect(error.message).toBe("It is not a CSV.");
  });

  test("the file that the details name", () => {
    expect(blamedFile(refused("It cannot be read.", { file: "b.csv" }), files)).toBe("b.csv");
  });

  test("the file that the message quotes", () => {
    expect(blamedFile(refused("'a.csv' cannot be read."), files)).toBe("a.csv");
  });

  test("none where it is about all, or about none of these", () => {
    expect(blamedFile(refused("'a.csv' and 'b.csv' differ."), files)).toBeNull();
    expect(blamedFile(refused("There is no room.", { file: "other.csv" }), files)).toBeNull();
    expect(blamedFile(new Error("'a.csv'"), files)).toBeNull();
  });
});
