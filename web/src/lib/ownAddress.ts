/** An address to go on to, if it is one of this app; never another site's. */

export function ownAddress(address: unknown): string | undefined {
  if (typeof address !== "string" || !address.startsWith("/")) return undefined;
  try {
    const { origin, pathname, search, hash } = new URL(address, location.origin);
    const isOwn = origin === location.origin && !pathname.startsWith("//");
    return isOwn ? pathname + search + hash : undefined;
  } catch {
    return undefined;
  }
}
