package import Crypto
package import SLS

/// Who is told, by a POST, when a credential is not well.
package struct WebhookSettings: Sendable, Equatable {
    /// Absent, nobody is.
    package var address: WebhookAddress?
    /// Whether it may be told without TLS to other machines.
    package var isPlainAllowed = false
    /// The value of the header of that name.
    package var authorization: Secret?
    /// How long one attempt may take.
    package var timeout: Duration = .seconds(10)
    /// What flaps is told that often at most: of each credential, each kind of event.
    package var interval: Duration = .seconds(300)

    package init() {}
}

/// A URL whose path and query may carry a token: printing it shows scheme, host and port.
package struct WebhookAddress: Sendable, Equatable, CustomStringConvertible {
    package let url: Secret
    package let place: Endpoint

    package var description: String { place.description }
}

extension WebhookAddress {
    /// Reads `http[s]://host[:port][/path][?query]`. What is wrong with it is told without repeating it.
    init(parsing text: String) throws(Mismatch) {
        let example = "write it as https://hooks.example.com/sluice"
        guard let mark = text.firstRange(of: "://") else {
            throw Mismatch("has no scheme; \(example)")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw Mismatch(
                "holds spaces or characters other than ASCII; percent-encode them, or \(example)"
            )
        }
        let end = text[mark.upperBound...].firstIndex { "/?#\\".contains($0) } ?? text.endIndex
        guard !text[mark.upperBound..<end].contains("@") else {
            throw Mismatch("holds a name or password; give webhook.authorization instead")
        }
        guard let place = try? Endpoint(parsing: String(text[..<end])) else {
            throw Mismatch("is not the URL of an HTTP server; \(example)")
        }
        self.init(url: Secret(text), place: place)
    }
}
