package import System

/// The reason why a log can never be delivered unchanged.
package struct DeathReason: Sendable, Equatable {
    /// SLS's own error code, or one of ours: `LogTimeInvalid`, `ValueTooLarge`, `LogUnreadable`,
    /// `PacketUnsendable`.
    package let code: String
    package let message: String
    /// SLS's request id, if SLS refused the log.
    package let requestID: String?
    /// The answer's HTTP status, if there was an answer.
    package let status: Int?
    /// SLS's time at the refusal, by which SLS judges the times of logs. Dead letters do not keep
    /// it.
    package let serverTime: WallTime?

    package init(
        code: String,
        message: String,
        requestID: String? = nil,
        status: Int? = nil,
        serverTime: WallTime? = nil
    ) {
        self.code = code
        self.message = message
        self.requestID = requestID
        self.status = status
        self.serverTime = serverTime
    }
}

extension DeathReason {
    /// True if SLS may have refused the log for its time. Every other code has another cause.
    package var mayBeTime: Bool { code == "PostBodyInvalid" || code == "InvalidTimestamp" }
}
