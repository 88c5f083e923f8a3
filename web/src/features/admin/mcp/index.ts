/** The sections about MCP that the administration lists. */

export { AllowlistsSection } from "./AllowlistsSection";
export { McpCallsSection } from "./McpCallsSection";
export { McpRegistrySection } from "./McpRegistrySection";
