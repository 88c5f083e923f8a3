/** The API, read from the server's own document and tried out: Swagger UI, served from here. */

import { useEffect, useRef } from "react";
import SwaggerUIBundle from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";

export function ApiPage() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (place.current === null) return;
    SwaggerUIBundle({
      url: "/openapi.json",
      domNode: place.current,
      filter: true,
      validatorUrl: null, // nothing is sent elsewhere
    });
  }, []);
  // its own style sheet knows light only
  return <main id="content" ref={place} className="min-h-dvh bg-white [color-scheme:light]" />;
}
