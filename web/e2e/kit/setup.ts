/** Before all tests: the two servers that they share, with the scripted and the offline model. */

import { Server } from "./server";

export const MODELS = ["scripted", "offline"] as const;
export type Model = (typeof MODELS)[number];

/** Where workers find the address of a server. */
export function addressVariable(model: Model): string {
  return `DATAAGENT_E2E_${model.toUpperCase()}`;
}

/** A server whose address is in the environment already is taken as it is. */
export default async function start(): Promise<() => Promise<void>> {
  const missing = MODELS.filter((model) => process.env[addressVariable(model)] === undefined);
  const starts = await Promise.allSettled(
    missing.map(async (model) => {
      const server = await Server.start({ DATAAGENT_MODEL: model, ...SETTINGS });
      process.env[addressVariable(model)] = server.url;
      return server;
    }),
  );
  const servers = starts.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const end = async () => {
    await Promise.all(servers.map((server) => server.remove()));
  };
  const failed = starts.find((each) => each.status === "rejected");
  if (failed === undefined) return end;
  await end();
  throw failed.reason;
}

const SETTINGS = {
  DATAAGENT_ALLOW_PRIVATE_HOSTS: "127.0.0.1",
  DATAAGENT_PRICE_INPUT: "3",
  DATAAGENT_PRICE_OUTPUT: "15",
  DATAAGENT_MULTI_TENANT: "true",
};
