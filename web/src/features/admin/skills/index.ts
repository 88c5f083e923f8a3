/** The section about skills that the administration lists. */

export { SkillsSection } from "./SkillsSection";
