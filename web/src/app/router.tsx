/** Addresses → pages. Pages other than the chat are loaded when they are first needed. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";

import { ApiError } from "@/api/client";
import { meQuery, queryClient } from "@/api/queries";
import { loadLaterTexts } from "@/i18n";
import { ownAddress } from "@/lib/ownAddress";
import { ChatPage } from "@/pages/ChatPage";
import { NotFoundPage } from "@/pages/NotFoundPage";
import { SignInPage } from "@/pages/SignInPage";

import { Shell } from "./Shell";

/** A page besides the chat: its code and its texts come when it is first opened. */
const laterPage: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(async () => {
    await loadLaterTexts();
    return load();
  }, name);

const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFoundPage });

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/login",
  // Said also when there is none: what is left out here would be taken from the address as it is.
  validateSearch: (search): { next?: string } => ({ next: ownAddress(search["next"]) }),
  component: SignInPage,
});

/** What can be asked of the server is no secret; asking takes a login or a key. */
const apiRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/docs",
  component: lazyRouteComponent(() => import("@/pages/ApiPage"), "ApiPage"),
});

/** Everything behind the login. An end of the login later on is `SignInAgain`'s. */
const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "shell",
  component: Shell,
  beforeLoad: async ({ location }) => {
    try {
      await queryClient.query({ ...meQuery, staleTime: "static" });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) return; // the page says what is wrong
      const next = location.href === "/" ? {} : { next: location.href };
      throw redirect({ to: "/login", search: next });
    }
  },
});

const homeRoute = createRoute({ getParentRoute: () => shellRoute, path: "/", component: ChatPage });
const chatRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/chat/$conversationId",
  component: ChatPage,
});
const dataRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/data",
  component: laterPage(() => import("@/pages/DataPage"), "DataPage"),
});
const sourceRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/data/$sourceId",
  component: laterPage(() => import("@/pages/DataPage"), "DataPage"),
});
const mcpRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/mcp-servers",
  component: laterPage(() => import("@/pages/McpPage"), "McpPage"),
});
const settingsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/settings",
  component: laterPage(() => import("@/pages/SettingsPage"), "SettingsPage"),
});
const adminRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/admin",
  beforeLoad: () => {
    throw redirect({ to: "/admin/$section", params: { section: "users" } });
  },
});
const adminSectionRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/admin/$section",
  validateSearch: (search): { item?: string } =>
    typeof search["item"] === "string" ? { item: search["item"] } : {},
  component: laterPage(() => import("@/pages/AdminPage"), "AdminPage"),
});

const routeTree = rootRoute.addChildren([
  signInRoute,
  apiRoute,
  shellRoute.addChildren([
    homeRoute,
    chatRoute,
    dataRoute,
    sourceRoute,
    mcpRoute,
    settingsRoute,
    adminRoute,
    adminSectionRoute,
  ]),
]);

export const router = createRouter({ routeTree, defaultPreload: "intent" });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
