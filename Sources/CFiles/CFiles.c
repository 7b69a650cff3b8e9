// The files that the program serves from memory, as they are in the repository.
#include "CFiles.h"

// #embed is of C23; clang has it in older versions, too.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char api_js[] = {
#embed "../Admin/Console/api.js"
};
static const unsigned char app_js[] = {
#embed "../Admin/Console/app.js"
};
static const unsigned char capture_js[] = {
#embed "../Admin/Console/capture.js"
};
static const unsigned char chart_js[] = {
#embed "../Admin/Console/chart.js"
};
static const unsigned char cluster_js[] = {
#embed "../Admin/Console/cluster.js"
};
static const unsigned char credentials_js[] = {
#embed "../Admin/Console/credentials.js"
};
static const unsigned char destinations_js[] = {
#embed "../Admin/Console/destinations.js"
};
static const unsigned char dialog_js[] = {
#embed "../Admin/Console/dialog.js"
};
static const unsigned char dom_js[] = {
#embed "../Admin/Console/dom.js"
};
static const unsigned char hosts_js[] = {
#embed "../Admin/Console/hosts.js"
};
static const unsigned char index_html[] = {
#embed "../Admin/Console/index.html"
};
static const unsigned char letters_js[] = {
#embed "../Admin/Console/letters.js"
};
static const unsigned char lists_js[] = {
#embed "../Admin/Console/lists.js"
};
static const unsigned char logo_svg[] = {
#embed "../Admin/Console/logo.svg"
};
static const unsigned char queue_js[] = {
#embed "../Admin/Console/queue.js"
};
static const unsigned char routes_js[] = {
#embed "../Admin/Console/routes.js"
};
static const unsigned char status_js[] = {
#embed "../Admin/Console/status.js"
};
static const unsigned char style_css[] = {
#embed "../Admin/Console/style.css"
};
static const unsigned char table_js[] = {
#embed "../Admin/Console/table.js"
};
static const unsigned char tail_js[] = {
#embed "../Admin/Console/tail.js"
};
static const unsigned char theme_js[] = {
#embed "../Admin/Console/theme.js"
};
static const unsigned char openapi_json[] = {
#embed "../../docs/openapi.json"
};

#define FILE(name, bytes) { name, bytes, sizeof(bytes) }

static const EmbeddedFile console[] = {
    FILE("api.js", api_js),
    FILE("app.js", app_js),
    FILE("capture.js", capture_js),
    FILE("chart.js", chart_js),
    FILE("cluster.js", cluster_js),
    FILE("credentials.js", credentials_js),
    FILE("destinations.js", destinations_js),
    FILE("dialog.js", dialog_js),
    FILE("dom.js", dom_js),
    FILE("hosts.js", hosts_js),
    FILE("index.html", index_html),
    FILE("letters.js", letters_js),
    FILE("lists.js", lists_js),
    FILE("logo.svg", logo_svg),
    FILE("queue.js", queue_js),
    FILE("routes.js", routes_js),
    FILE("status.js", status_js),
    FILE("style.css", style_css),
    FILE("table.js", table_js),
    FILE("tail.js", tail_js),
    FILE("theme.js", theme_js),
};
const EmbeddedFile embeddedDocument = FILE("openapi.json", openapi_json);

const EmbeddedFile *embeddedConsoleFile(size_t index) {
    return index < sizeof(console) / sizeof(EmbeddedFile) ? &console[index] : NULL;
}
