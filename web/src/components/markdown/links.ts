/** Where a link of a model's text may lead. Pure. */

type LinkTarget =
  | { kind: "web"; href: string; host: string }
  | { kind: "mail"; href: string; address: string }
  | { kind: "download"; href: string };

const OURS = /^\/api\/(?:v1\/artifacts|files)\/[^/]/;
const UNSEEN = /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\\]/; // they hide what an address is

/** The target, or null for a link that is not followed. */
export function linkTarget(address: string | undefined): LinkTarget | null {
  if (address === undefined || UNSEEN.test(address)) return null;
  if (address.startsWith("/")) return download(address);
  const url = parsed(address);
  if (url === null) return null;
  if (url.protocol === "mailto:") {
    const to = url.pathname;
    return to === "" ? null : { kind: "mail", href: `mailto:${to}`, address: decoded(to) };
  }
  const isWeb = url.protocol === "https:" || url.protocol === "http:";
  return isWeb && url.host !== "" ? { kind: "web", href: url.href, host: url.host } : null;
}

function download(address: string): LinkTarget | null {
  const url = parsed(address, "http://here.invalid");
  if (url === null || url.host !== "here.invalid" || !OURS.test(url.pathname)) return null;
  return { kind: "download", href: `${url.pathname}${url.search}` };
}

function parsed(address: string, base?: string): URL | null {
  return URL.canParse(address, base) ? new URL(address, base) : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
