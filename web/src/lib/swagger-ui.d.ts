/** The bundle has the same type as the package's entry, which a browser cannot load. */
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  import type { SwaggerUIBundle } from "swagger-ui-dist";
  const bundle: SwaggerUIBundle;
  export default bundle;
}
