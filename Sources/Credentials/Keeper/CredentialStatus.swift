package import System

/// How a credential of the table is. It shows nothing that signs.
package struct CredentialStatus: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case ok
        /// Its renewal is due and has not come.
        case expiring
        case expired
        /// There is none.
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

    /// Whether what was pushed outlives a restart.
    package enum Kept: Sendable, Equatable {
        case onDisk
        case inMemory(reason: String)
        /// There is one on the disk that cannot be opened.
        case closed(reason: String)

        package var reason: String? {
            switch self {
            case .onDisk: nil
            case .inMemory(let reason), .closed(let reason): reason
            }
        }
    }

    package var name: String
    /// As the configuration calls it.
    package var source: String
    package var state: State
    /// In words, of the credential in use.
    package var origin: String?
    package var isPushed = false
    package var fingerprint: String?
    package var shownID: String?
    package var expiration: WallTime?
    /// Negative after its end; nil for one that does not expire.
    package var secondsLeft: Int64?
    package var next: Next?
    /// Rises with each push and taking back, and with nothing that a source or the time does.
    package var generation = 0
    /// Nil where nothing was pushed.
    package var kept: Kept?

    // Of the source.
    package var lastRefresh: WallTime?
    package var lastProblem: SourceProblem?
    /// In a row.
    package var failures = 0
    package var nextTry: WallTime?

    package init(name: String, source: String, state: State) {
        self.name = name
        self.source = source
        self.state = state
    }
}
