package import Crypto
import HTTPClient
package import Logs
import System

/// What only a destination of kind http has: an HTTP server that takes logs as JSON.
package struct HTTPOutputSettings: Sendable, Equatable {
    package struct Header: Sendable, Equatable {
        package let name: String
        package let value: Secret
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
    var clientCertificate: TransferOptions.ClientCertificate? {
        guard let certificateFile, let keyFile else { return nil }
        return TransferOptions.ClientCertificate(chainFile: certificateFile, keyFile: keyFile)
    }
}

extension HTTPOutputSettings: SettingGroup {
    static var settings: [Setting<HTTPOutputSettings>] {
        Setting(
            "url",
            \.address,
            .webAddress(like: "https://logs.example.com/in", secretKey: "a header under headers"),
            default: "required",
            shownAs: { $0.shownAddress }
        ) {
            """
            `https://logs.example.com/in`, to which packets are posted; redirections are not followed. \
            Only scheme, host and port are shown
            """
        }
        Setting(
            SettingDescription(
                key: "headers",
                help: """
                    headers of every request, up to 32, as in `authorization: "${file:…}"`; the values are \
                    never shown
                    """,
                wants: "texts under names",
                shape: .texts
            ),
            \.headers,
            show: { .group($0.headers.map { ($0.name, .text("•••")) }) },
            Header.readAll
        )
        Setting("body", \.body, .choice(["json_array": .array, "ndjson": .lines])) {
            "`json_array`, or `ndjson`: a log a line"
        }
        Setting(
            "success",
            \.successes,
            listOf: .count(200...299),
            1...100,
            default: "any from 200 to 299"
        ) { "the statuses that say that the logs are stored, as in `[200, 201]`" }
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
        if !section.has("url") {
            section.problem("url", "is missing; kind http posts logs to it")
        }
    }
}

extension HTTPOutputSettings.Header {
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
