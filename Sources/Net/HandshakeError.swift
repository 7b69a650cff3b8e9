/// Why a client and the server did not come together, for whoever looks for the reason.
package struct HandshakeError: Error, Equatable {
    package enum Kind: Sendable, Equatable {
        /// The client, without a word: most are no clients but somebody who looks whether the port is open.
        case left
        /// With a request that is not encrypted. Nothing was said to it yet.
        case spokePlainly
        case refused
    }

    package let kind: Kind
    package let reason: String
}
