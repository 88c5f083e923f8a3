/** A change on the server, and what is asked for again after it. */

import { useMutation, useQueryClient, type QueryKey } from "@tanstack/react-query";

import { toast } from "@/components/ui/toast";

interface ChangeOptions<Result> {
  /** What the change makes old. */
  keys: QueryKey[];
  /** Said once it is done. */
  done?: string;
  onDone?: (result: Result) => void;
}

export function useChange<Input, Result>(
  run: (input: Input) => Promise<Result>,
  { keys, done, onDone }: ChangeOptions<Result>,
) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: async (result) => {
      await Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
      if (done !== undefined) toast(done);
      onDone?.(result);
    },
  });
}
