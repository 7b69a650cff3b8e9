package import System

/// Why a log can never be delivered as it is.
package struct DeathReason: Sendable, Equatable {
    /// SLS's own error code, or one of ours: `LogTimeInvalid`, `ValueTooLarge`, `LogUnreadable`,
    /// `PacketUnsendable`.
    package let code: String
    package let message: String
    /// SLS's, when SLS refused it.
    package let requestID: String?
    /// The answer's HTTP status, when there was an answer.
    package let status: Int?
    /// What time it was for SLS then, by which it measures the times of logs; not kept with the dead.
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
    /// SLS may have refused it for a log's time: with any other code it has another cause.
    package var mayBeTime: Bool { code == "PostBodyInvalid" || code == "InvalidTimestamp" }
}
