/** The section about agents that the administration lists. */

export { AgentsSection } from "./AgentsSection";
