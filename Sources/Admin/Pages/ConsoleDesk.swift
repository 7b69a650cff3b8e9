import CFiles
import Crypto
import HTTP
import Logs
import Operations
import Rendering
import System

extension AdminCall {
    func consoleHome() -> Response { Response(status: 308, fields: [("location", "/console/")]) }

    func consoleFile() -> Response? { ConsoleDesk.shared.file(values[0], head) }

    func consoleStatus() -> Response? {
        guard visitor != nil else { return ConsoleDesk.statusPage(nil) }
        // The whole status is written, read and shown, which takes a while.
        respond(on: .views) { ConsoleDesk.statusPage(View.status.text(of: status().body)) }
        return nil
    }
}

/// Serves the console's files from memory. They hold no data, so strangers may load them.
final class ConsoleDesk: Sendable {
    /// Made when the first browser comes: it compresses the files.
    static let shared = ConsoleDesk()

    private struct File: Sendable {
        let type: String
        let bytes: [UInt8]
        let compressed: [UInt8]
        let tag: String

        init(_ file: ServedFile) {
            let types = [
                "html": "text/html", "js": "text/javascript", "css": "text/css",
                "svg": "image/svg+xml",
            ]
            let ending = file.name.split(separator: ".").last.map(String.init) ?? ""
            type = "\(types[ending] ?? "text/plain"); charset=utf-8"
            bytes = Array(file.text.utf8)
            compressed = Gzip.compress(bytes)
            tag = "\"\(hex(Digest.sha256(bytes).prefix(8)))\""
        }
    }

    private static let index = "index.html"
    private let files: [String: File]

    private init() {
        files = Dictionary(uniqueKeysWithValues: ServedFile.console.map { ($0.name, File($0)) })
    }

    /// The file of this name; the empty name is the index.
    func file(_ name: String, _ head: RequestHead) -> Response {
        guard let file = files[name.isEmpty ? Self.index : name] else {
            return AdminRoute.unknownPath.response
        }
        var fields =
            Self.protection + [
                ("etag", file.tag), ("cache-control", "no-cache"), ("vary", "accept-encoding"),
            ]
        if head.list("if-none-match")?.contains(file.tag) ?? false {
            return Response(status: 304, fields: fields)
        }
        fields.append(("content-type", file.type))
        guard head.acceptsGzip else {
            return Response(status: 200, fields: fields, body: file.bytes)
        }
        fields.append(("content-encoding", "gzip"))
        return Response(status: 200, fields: fields, body: file.compressed)
    }

    /// `/console/status`: the status as text, for browsers without scripts. nil asks for the login.
    static func statusPage(_ status: String?) -> Response {
        let content =
            status.map { "<h1>Status</h1><pre>\(escaped($0))</pre>" }
                ?? """
                <h1>Log in</h1>
                <form method="post" action="login"><p><label for="token">Admin token</label>
                <input id="token" name="token" type="password" autocomplete="off" required>
                <button>Log in</button></p></form>
                """
        let page = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><title>Sluice: status</title>
            <meta name="viewport" content="width=device-width">
            <link rel="stylesheet" href="style.css"></head>
            <body class="plain"><main>\(content)
            <p><a href="./">Open the console</a> (it needs JavaScript).</p></main></body></html>

            """
        let fields = protection + [("content-type", "text/html; charset=utf-8")]
        return Response(status: 200, fields: fields, body: Array(page.utf8))
    }

    /// Nothing is loaded from elsewhere or run inline, and no other site may frame the console.
    private static let protection: [(name: String, value: String)] = [
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                + "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
                + "frame-ancestors 'none'; require-trusted-types-for 'script'"
        ),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
    ]

    private static func escaped(_ text: String) -> String {
        text.escaping(["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"])
    }
}

extension RequestHead {
    /// True if the client takes gzip without a weight of zero.
    fileprivate var acceptsGzip: Bool {
        let codings = list("accept-encoding")?.lowercased().split(separator: ",") ?? []
        return codings.contains { coding in
            let parts = coding.split(separator: ";").map { $0.filter { $0 != " " } }
            guard parts.first == "gzip" else { return false }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            return weight.flatMap { Double($0) } != 0
        }
    }
}

/// A text file that the program serves from memory, as it is in the repository.
struct ServedFile: Sendable {
    let name: String
    let text: String

    private init(_ file: EmbeddedFile) {
        name = String(cString: file.name)
        text = String(
            decoding: UnsafeBufferPointer(start: file.bytes, count: file.count),
            as: UTF8.self
        )
    }

    static let openAPI = ServedFile(embeddedDocument)

    static let console = Array(
        sequence(state: 0) { index -> ServedFile? in
            defer { index += 1 }
            return embeddedConsoleFile(index).map { ServedFile($0.pointee) }
        }
    )
}
