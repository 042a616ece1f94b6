// What the page shows, and that it asks nobody but this server.

// Without this, Swagger UI draws a closed padlock where credentials are optional, and an open one where they are
// required: it shows whether a request could be sent now.
function Padlocks(system) {
  const isRequired = function (security) {
    return !security.some((alternative) => alternative.isEmpty());
  };
  return {
    statePlugins: {
      auth: { wrapSelectors: { isAuthorized: () => (state, security) => Boolean(security) && isRequired(security) } },
    },
    wrapComponents: {
      authorizeOperationBtn: (Button) => (properties) =>
        system.React.createElement(
          "span",
          { title: properties.isAuthorized ? "Credentials are required" : "Credentials are optional" },
          system.React.createElement(Button, properties),
        ),
    },
  };
}

window.addEventListener("load", function () {
  window.ui = SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    displayOperationId: false,
    docExpansion: "list",
    persistAuthorization: false,
    plugins: [Padlocks],
    validatorUrl: null,
  });
});
