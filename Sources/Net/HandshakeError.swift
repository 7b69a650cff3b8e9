/// Why a TLS handshake failed, for the operator.
package struct HandshakeError: Error, Equatable {
    package enum Kind: Sendable, Equatable {
        /// The client closed the connection silently. Most such clients are port scanners or health checks.
        case closed
        /// The client sent an unencrypted request. Nothing was sent to it yet.
        case plainHTTP
        case refused
    }

    package let kind: Kind
    package let reason: String
}
