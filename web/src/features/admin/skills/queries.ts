/** Skills, with an agent, and one's own to keep. */

import { queryOptions } from "@tanstack/react-query";

import { api, call } from "@/api/client";

export const SKILL_KEYS = [["skills"]];

/** Without an agent: the usual one. */
const withAgent = (agent: string) => (agent === "" ? {} : { agent });

export function skillListQuery(agent: string) {
  return queryOptions({
    queryKey: ["skills", "list", agent],
    queryFn: () => call(api.GET("/api/skills", { params: { query: withAgent(agent) } })),
  });
}

export function skillQuery(name: string, agent: string) {
  return queryOptions({
    queryKey: ["skills", "one", name, agent],
    queryFn: () => {
      const params = { path: { skill_name: name }, query: withAgent(agent) };
      return call(api.GET("/api/skills/{skill_name}", { params }));
    },
    staleTime: 0,
  });
}

const one = (name: string) => ({ params: { path: { skill_name: name } } });

export const skillStore = {
  put: (name: string, content: string) =>
    call(api.PUT("/api/skills/{skill_name}", { ...one(name), body: { content } })),
  remove: (name: string) => call(api.DELETE("/api/skills/{skill_name}", one(name))),
};
