import type { first } from "./en/first";
import type { later } from "./en/later";

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "common";
    resources: typeof first & typeof later;
  }
}
