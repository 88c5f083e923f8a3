/** What fits the `/` or `@` that is being typed. */

import { useQueries, useQuery } from "@tanstack/react-query";

import { filesQuery, skillsQuery, sourcesQuery, tablesQuery } from "@/api/queries";

import { matching, mentionOf, sourceIn, type Token } from "./tokens";

export interface Suggestion {
  kind: "skill" | "source" | "table" | "file";
  id: string;
  /** As it is written after the `/` or `@`. */
  name: string;
  description: string;
}

/** Fetched when first needed; null when nothing is being picked. */
export function useSuggestions(token: Token | null): Suggestion[] | null {
  const skills = useSkills(token?.kind === "skill");
  const isMention = token?.kind === "mention";
  const sources = useSources(isMention);
  const tables = useTables(isMention ? token.query : "", sources);
  const files = useFiles(isMention);
  if (token === null) return null;
  const known = isMention ? [...sources, ...files, ...tables] : skills;
  return matching(known, token.query);
}

function useSkills(enabled: boolean): Suggestion[] {
  const found = useQuery({ ...skillsQuery, enabled }).data?.items ?? [];
  return found.map(({ name, description }) => ({ kind: "skill", id: name, name, description }));
}

function useSources(enabled: boolean): Suggestion[] {
  const found = useQuery({ ...sourcesQuery, enabled }).data?.items ?? [];
  return found.map(({ source_id: id, name, description }) => {
    return { kind: "source", id, name, description };
  });
}

/** Tables once something is typed: of the source before the dot, or else of all. */
function useTables(query: string, sources: Suggestion[]): Suggestion[] {
  const named = sourceIn(query, sources);
  const wanted = query === "" ? [] : named ? [named] : sources;
  const queries = useQueries({ queries: wanted.map((source) => tablesQuery(source.id)) });
  return wanted.flatMap((source, at) =>
    (queries[at]?.data?.items ?? []).map((table): Suggestion => {
      const id = `${source.id} ${table.key}`;
      const name = mentionOf(source.name, table.key);
      return { kind: "table", id, name, description: table.comment ?? "" };
    }),
  );
}

function useFiles(enabled: boolean): Suggestion[] {
  const found = useQuery({ ...filesQuery, enabled }).data?.items ?? [];
  return found.map(({ file_id: id, filename: name }) => {
    return { kind: "file", id, name, description: "" };
  });
}
