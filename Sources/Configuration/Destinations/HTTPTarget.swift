package import Crypto
package import HTTPClient
package import Logs
package import SLS
import System

/// What only a destination of kind http has: an HTTP server that takes logs as JSON.
package struct HTTPTarget: Sendable, Equatable {
    package struct Header: Sendable, Equatable {
        package let name: String
        package let value: Secret

        package init(name: String, value: Secret) {
            self.name = name
            self.value = value
        }
    }

    /// Nil only where it could not be read, which is reported.
    package var address: WebAddress?
    package var headers: [Header] = []
    package var body = LogJSON.Framing.array
    /// Empty: any status from 200 to 299.
    package var successes: [Int] = []
    package var certificateFile: String?
    package var keyFile: String?

    package init() {}

    /// For TLS, where the server asks for one.
    package var clientCertificate: TransferOptions.ClientCertificate? {
        guard let certificateFile, let keyFile else { return nil }
        return TransferOptions.ClientCertificate(chainFile: certificateFile, keyFile: keyFile)
    }
}

extension HTTPTarget: SettingGroup {
    static var settings: [Setting<HTTPTarget>] {
        Setting(
            "url",
            \.address,
            .webAddress(like: "https://logs.example.com/in", secretKey: "a header under headers"),
            shownAs: { $0.shownAddress }
        ) {
            "`https://logs.example.com/in`, to which packets are posted; redirections are not "
            "followed. Only scheme, host and port are shown"
        }
        .default("required")
        Setting(
            "headers",
            \.headers,
            .texts(),
            show: { .group($0.headers.map { ($0.name, .text("•••")) }) }
        ) {
            #"headers of every request, up to 32, as in `authorization: "${file:…}"`; the values "#
            "are never shown"
        } read: {
            Header.readAll(&$0)
        }
        Setting("body", \.body, .choice(["json_array": .array, "ndjson": .lines])) {
            "`json_array`, or `ndjson`: a log a line"
        }
        Setting("success", \.successes, listOf: .count(200...299), 1...100) {
            "the statuses that say that the logs are stored, as in `[200, 201]`"
        }
        .default("any from 200 to 299")
        Setting("cert_file", \.certificateFile, .readableFile) {
            "the certificate that is shown to a server which asks for one, with its chain, as PEM"
        }
        Setting("key_file", \.keyFile, .readableFile) { "its key, as PEM" }
    }

    private var shownAddress: SettingValue {
        address.map { .text($0.description) } ?? .absent
    }

    func check(_ section: borrowing Section) {
        if (certificateFile == nil) != (keyFile == nil) {
            let (given, missing) =
                keyFile == nil ? ("cert_file", "key_file") : ("key_file", "cert_file")
            if section.has(given), !section.has(missing) {
                section.problem(given, "is of no use without \(missing)")
            }
        }
        section.problem("url", if: !section.has("url")) { "is missing; kind http posts logs to it" }
    }
}

extension HTTPTarget.Header {
    private static let countMax = 32
    /// The output writes them itself, or they frame the request.
    private static let reserved: Set<String> = [
        "connection", "content-encoding", "content-length", "content-type", "expect", "host",
        "idempotency-key", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    fileprivate static func readAll(_ section: inout Section) -> [Self]? {
        var group = section.section("headers")
        var headers: [Self] = []
        for key in group.names {
            let value = group.value(key, .headerValue)
            let (place, path) = (group.place(of: key), group.keyPath(key))
            let name = section.report.reporting(
                place,
                key: path,
                try Kind<String>.headerName.parse(key)
            )
            guard let name else { continue }
            if reserved.contains(name) {
                group.problem(key, "is set by Sluice itself; remove it")
            } else if headers.contains(where: { $0.name == name }) {
                group.problem(key, "is given twice, in other letters; keep one")
            } else if let value {
                headers.append(Self(name: name, value: value))
            }
        }
        if headers.count > countMax {
            section.problem("headers", "there are \(headers.count); give at most \(countMax)")
        }
        group.refuseOthers()
        return headers
    }
}

/// A URL whose path and query may carry a token: printing it shows scheme, host and port.
package struct WebAddress: Sendable, Equatable, CustomStringConvertible {
    package let url: Secret
    package let place: Endpoint

    package init(url: Secret, place: Endpoint) {
        self.url = url
        self.place = place
    }

    package var description: String { place.description }
}

extension Kind<WebAddress> {
    /// `secretKey` says where names and passwords belong.
    static func webAddress(like example: String, secretKey: String) -> Kind {
        Kind(wants: "a URL such as \(example)") { text throws(Mismatch) in
            try WebAddress(parsing: text, example: example, secretKey: secretKey)
        }
    }
}

extension WebAddress {
    /// Reads `http[s]://host[:port][/path][?query]`. Errors repeat none of it.
    init(parsing text: String, example: String, secretKey: String) throws(Mismatch) {
        let example = "write it as \(example)"
        guard let mark = text.firstRange(of: "://") else {
            throw Mismatch("has no scheme; \(example)")
        }
        try expect(text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })) {
            "holds spaces or characters other than ASCII; percent-encode them, or \(example)"
        }
        let end = text[mark.upperBound...].firstIndex { "/?#\\".contains($0) } ?? text.endIndex
        guard !text[mark.upperBound..<end].contains("@") else {
            throw Mismatch("holds a name or password; give \(secretKey) instead")
        }
        guard let place = try? Endpoint(parsing: String(text[..<end])) else {
            throw Mismatch("is not the URL of an HTTP server; \(example)")
        }
        self.init(url: Secret(text), place: place)
    }
}
