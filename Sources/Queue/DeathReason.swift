/// Why a log can never be delivered as it is.
package struct DeathReason: Sendable, Equatable {
    /// SLS's own error code, or one of ours: `LogTimeInvalid`, `ValueTooLarge`, `PacketUnsendable`.
    package let code: String
    package let message: String
    /// SLS's, when SLS refused it.
    package let requestID: String?
    /// The answer's HTTP status, when there was an answer.
    package let status: Int?

    package init(code: String, message: String, requestID: String? = nil, status: Int? = nil) {
        self.code = code
        self.message = message
        self.requestID = requestID
        self.status = status
    }
}

extension DeathReason {
    /// Whether SLS may have refused it for a log's time: with any other code it is something else.
    var mayBeTime: Bool { code == "PostBodyInvalid" || code == "InvalidTimestamp" }
}
