package import System

/// The state of a credential, without any secret.
package struct CredentialStatus: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case ok
        /// Its renewal is overdue.
        case expiring
        case expired
        /// There is no credential.
        case missing
        /// SLS refuses it.
        case refused
        /// The source is being asked, and nothing is wrong.
        case refreshing
    }

    package struct Next: Sendable, Equatable {
        package var fingerprint: String
        package var activation: WallTime
    }

    /// Tells if a pushed credential survives a restart.
    package enum Kept: Sendable, Equatable {
        case onDisk
        case inMemory(reason: String)
        /// The disk holds a credential that cannot be opened.
        case closed(reason: String)

        package var reason: String? {
            switch self {
            case .onDisk: nil
            case .inMemory(let reason), .closed(let reason): reason
            }
        }
    }

    package var name: String
    /// The source's name in the configuration.
    package var source: String
    package var state: State
    /// Where the credential in use comes from, in words.
    package var origin: String?
    package var isPushed = false
    package var fingerprint: String?
    package var shownID: String?
    package var expiration: WallTime?
    /// Negative after expiry; nil for a credential that does not expire.
    package var secondsLeft: Int64?
    package var next: Next?
    /// Increases with each push and each withdrawal only; sources and time do not change it.
    package var generation = 0
    /// nil when nothing was pushed.
    package var kept: Kept?

    // State of the source.
    package var lastRefresh: WallTime?
    package var lastProblem: SourceProblem?
    /// Failures in a row.
    package var failures = 0
    package var nextTry: WallTime?

    package init(name: String, source: String, state: State) {
        self.name = name
        self.source = source
        self.state = state
    }
}
