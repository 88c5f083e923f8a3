// @vitest-environment happy-dom
import { act, renderHook } from "@testing-library/react";
import { expect, it } from "vitest";

import type { Trial } from "./queries";
import { useTrials } from "./useTrials";

/** A test that ends when it is told to, with a result of its own. */
function held(): { test: () => Promise<Trial>; end: () => Promise<void>; result: Trial } {
  const result = {} as Trial; // it is handed on, not looked at
  const end = new EventTarget();
  const promise = new Promise<Trial>((resolve) =>
    end.addEventListener("end", () => resolve(result)),
  );
  return {
    test: () => promise,
    end: () =>
      act(async () => {
        end.dispatchEvent(new Event("end"));
        await promise;
      }),
    result,
  };
}

it("the result of a server that is forgotten meanwhile does not come back", async () => {
  const { result: trials } = renderHook(() => useTrials());
  const running = held();
  act(() => trials.current.run("sales", running.test));
  expect(trials.current.of("sales")?.isRunning).toBe(true);
  act(() => trials.current.forget("sales"));
  await running.end();
  expect(trials.current.of("sales")).toBeUndefined();
});

it("the result of a later test stays when an earlier one ends after it", async () => {
  const { result: trials } = renderHook(() => useTrials());
  const [first, second] = [held(), held()];
  act(() => trials.current.run("sales", first.test));
  act(() => trials.current.run("sales", second.test));
  await second.end();
  await first.end();
  expect(trials.current.of("sales")?.trial).toBe(second.result);
});
