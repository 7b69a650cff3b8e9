package struct NATSError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Equatable, Sendable {
        /// There is no connection, or it was lost before the answer came.
        case disconnected
        /// The server refuses this client, or this client the server. It does not pass by itself.
        case refused
        /// No answer came in time.
        case timeout
        /// Nothing listens to the subject at this moment, as while a stream has no leader.
        case noResponders
        /// The server did not keep to the protocol.
        case malformed
    }

    package let kind: Kind
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
