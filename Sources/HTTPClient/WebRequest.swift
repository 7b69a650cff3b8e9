package import Crypto
package import System

/// How long a server may take to answer.
package struct WebLimits: Sendable, Equatable {
    package var connect: Duration
    package var total: Duration

    package init(connect: Duration, total: Duration) {
        self.connect = connect
        self.total = total
    }
}

/// An address of a host.
package struct FoundAddress: Sendable {
    package let target: ConnectTarget
    /// Takes what became of a request to it, so that an address that fails is not the first choice
    /// again.
    package let note: @Sendable (TransferOutcome) -> Void

    package init(
        _ target: ConnectTarget,
        note: @escaping @Sendable (TransferOutcome) -> Void
    ) {
        self.target = target
        self.note = note
    }
}

/// Finds where to connect to for a host. For callers with a thread of their own: it may wait some
/// seconds.
package struct AddressLookup: Sendable {
    package typealias Find =
        @Sendable (_ host: String, _ port: Int, _ resolvers: ResolverRules) -> FoundAddress?

    private let find: Find

    package init(_ find: @escaping Find) {
        self.find = find
    }

    /// Leaves all names to the system.
    package static let system = AddressLookup { _, _, _ in nil }

    /// Nil: connect by the name.
    package func address(for url: String, _ resolvers: ResolverRules) -> FoundAddress? {
        guard !resolvers.isEmpty, let start = url.firstRange(of: "://")?.upperBound else {
            return nil
        }
        let authority = url[start...].prefix { !"/?#".contains($0) }
        let parts = authority.split(separator: ":")
        guard let host = parts.first, parts.count <= 2 else { return nil }
        let usual = url.hasPrefix("https:") ? 443 : 80
        return find(String(host), parts.count == 2 ? Int(parts[1]) ?? usual : usual, resolvers)
    }
}

/// One request for `WebClient`.
package struct WebRequest {
    package var method = "GET"
    package var url: String
    package var headers: [String] = []
    package var form: [(name: String, value: String)]?
    /// A body in place of a form.
    package var content: [UInt8]?
    /// If false, the response ends after its head, whatever body the server sends.
    package var isBodyWanted = true
    /// A file of authorities to trust in place of the system's.
    package var authorities: String?
    package var limits: WebLimits
    /// The resolvers to ask for the host's addresses, in order. Empty: the system.
    package var resolvers: ResolverRules = []

    package init(
        method: String = "GET",
        url: String,
        headers: [String] = [],
        form: [(name: String, value: String)]? = nil,
        limits: WebLimits
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.form = form
        self.limits = limits
    }
}

package struct WebAnswer {
    package let status: Int
    /// The Date header.
    package let date: String?
    package let body: WipedBytes
}

/// Why there is no answer.
package enum WebFailure: Error, Equatable {
    case interrupted
    case tooLarge
    /// curl's description; it contains nothing of the request.
    case noAnswer(String)
}

// MARK: - Conformances

extension WebRequest: CustomStringConvertible, CustomReflectable {
    /// Address, headers and form may each hold a secret.
    package var description: String { "\(method) …" }
    package var customMirror: Mirror { Mirror(self, children: ["method": method]) }
}
