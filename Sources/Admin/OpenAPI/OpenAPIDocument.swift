import JSON
import System

/// What `/admin/openapi.json` says: every path of this listener, for tools that make clients and tests of it.
enum OpenAPIDocument {
    static let paths: [PathItem] =
        watchingPaths + steeringPaths + credentialPaths + destinationPaths + deadLetterPaths

    /// Written once; it is the same for every gateway of this version.
    static let text: String = {
        var json = JSONWriter()
        json.object { json in
            json.member("openapi", "3.1.0")
            json.object("info") { json in
                json.member("title", "Sluice, the admin listener")
                json.member("version", Version.current)
                json.member("description", description)
            }
            json.array("security") { json in json.object { $0.array("token") { _ in } } }
            json.object("paths") { json in for path in paths { json.path(path) } }
            json.object("components") { $0.components() }
        }
        return json.text + "\n"
    }()

    private static let description =
        "Where operators look at a running gateway and change it. Whatever answers in JSON answers as "
        + "a page to read when asked with Accept: text/plain."

    fileprivate static let schemas: [(String, Schema)] =
        commonSchemas + statusSchemas + deliverySchemas + settingSchemas + credentialSchemas
        + deadLetterSchemas

    fileprivate static let headers: [(name: String, says: String, schema: Schema)] = [
        ("etag", "the version, for If-Match", .pattern("^\"[0-9a-f]{16}\"$")),
        ("x-sluice-next", "where the next page starts; missing on the last", .id),
        ("retry-after", "seconds to wait", .id),
        ("www-authenticate", "what would be taken", .string),
    ]
}

extension JSONWriter {
    fileprivate mutating func components() {
        object("securitySchemes") { json in
            json.object("token") { json in
                json.member("type", "http")
                json.member("scheme", "bearer")
            }
        }
        object("headers") { json in
            for header in OpenAPIDocument.headers {
                json.object(header.name) { json in
                    json.member("description", header.says)
                    json.schema("schema", header.schema)
                }
            }
        }
        object("schemas") { json in
            for (name, schema) in OpenAPIDocument.schemas { json.schema(name, schema) }
        }
    }
}
