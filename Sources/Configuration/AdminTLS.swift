package import Net

/// How a command speaks TLS with an admin listener.
package struct AdminTLS: Sendable, Equatable {
    /// What tells that the other end is the gateway.
    package enum Trust: Sendable, Equatable {
        /// A certificate of an authority that the system trusts, made for the name or address.
        case system
        /// The same, of an authority in the file.
        case authorities(file: String)
        /// The certificate in the file, whatever names it has: its key is known to the gateway
        /// alone, and its own configuration says so. So a command on the gateway's machine needs no
        /// name for 127.0.0.1.
        case certificate(file: String)
    }

    package var trust: Trust
    /// What is shown to a gateway that asks for it.
    package var certificate: TLSSettings.Certificate?

    package init(_ trust: Trust, certificate: TLSSettings.Certificate? = nil) {
        self.trust = trust
        self.certificate = certificate
    }

    /// Nil when nothing speaks for TLS. A URL may lead to another gateway than the one that is
    /// configured here, so it is verified as any other.
    init?(_ settings: AdminSettings, isURL: Bool) {
        let own = settings.tls?.certificates.first?.chainFile
        if let file = settings.client.authorities {
            trust = .authorities(file: file)
        } else if let own, !isURL {
            // Without a name the listener shows its first one.
            trust = .certificate(file: own)
        } else if isURL || settings.client.certificate != nil {
            trust = .system
        } else {
            return nil
        }
        certificate = settings.client.certificate
    }
}
