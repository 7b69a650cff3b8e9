package import Crypto
package import SLS

/// A URL whose path and query may carry a token: printing it shows scheme, host and port.
package struct WebAddress: Sendable, Equatable, CustomStringConvertible {
    package let url: Secret
    package let place: Endpoint

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
    /// Reads `http[s]://host[:port][/path][?query]`. What is wrong with it is told without
    /// repeating it.
    init(parsing text: String, example: String, secretKey: String) throws(Mismatch) {
        let example = "write it as \(example)"
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
            throw Mismatch("holds a name or password; give \(secretKey) instead")
        }
        guard let place = try? Endpoint(parsing: String(text[..<end])) else {
            throw Mismatch("is not the URL of an HTTP server; \(example)")
        }
        self.init(url: Secret(text), place: place)
    }
}
