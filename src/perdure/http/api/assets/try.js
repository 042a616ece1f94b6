// What the page shows, and that it asks nobody but this server.
window.addEventListener("load", function () {
  window.ui = SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    displayOperationId: false,
    docExpansion: "list",
    persistAuthorization: false,
    validatorUrl: null,
  });
});
