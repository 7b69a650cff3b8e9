package import Crypto
import System

/// How long a server may take to answer.
package struct WebLimits: Sendable, Equatable {
    package var connect: Duration
    package var total: Duration

    package init(connect: Duration, total: Duration) {
        self.connect = connect
        self.total = total
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
