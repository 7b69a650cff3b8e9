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
