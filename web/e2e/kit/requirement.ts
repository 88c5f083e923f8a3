/**
 * What a test proves, by the ids of `tests/requirement_ids.txt`; counted by the Python tests, too.
 */

export function requirement(...ids: string[]) {
  return { annotation: ids.map((id) => ({ type: "requirement", description: id })) };
}
