/// How a client of ours speaks TLS with a server.
package struct OutboundTLS: Sendable, Equatable {
    /// PEM file with the authorities that may have signed the server's certificate; nil: those that
    /// the system trusts.
    package var authorities: String?
    /// Shown to a server that asks for it.
    package var certificate: TLSSettings.Certificate?

    package init(authorities: String? = nil, certificate: TLSSettings.Certificate? = nil) {
        self.authorities = authorities
        self.certificate = certificate
    }
}
