/// How a listener speaks TLS.
package struct TLSSettings: Sendable, Equatable {
    package struct Certificate: Sendable, Equatable {
        /// PEM: the server's own certificate, then those between it and the authority.
        package var chainFile: String
        /// PEM, without a passphrase.
        package var keyFile: String

        package init(chainFile: String, keyFile: String) {
            self.chainFile = chainFile
            self.keyFile = keyFile
        }
    }

    /// Whether clients show a certificate, signed by an authority of the file (PEM).
    package enum ClientCertificates: Sendable, Equatable {
        case none
        /// A client without one is let in without a name; one with a wrong one is not let in.
        case optional(authorities: String)
        case required(authorities: String)
    }

    package enum Version: Sendable, Equatable {
        case tls12, tls13
    }

    /// A client gets the one made for the name that it asks for, and the first where there is none.
    package var certificates: [Certificate]
    package var clientCertificates: ClientCertificates
    /// Files with lists of certificates that their authorities have revoked (CRL, PEM). With any of them each client
    /// must be on none, and its authority must have one that is current.
    package var revocationFiles: [String] = []
    /// Clients with such a name are refused as those whose certificate is revoked.
    package var denied: [CertificatePattern] = []
    package var minimumVersion: Version
    /// For TLS 1.2, in OpenSSL's words; those of 1.3 are all good.
    package var ciphers: String
    /// So long a client may come back without showing its certificate again, but not beyond its end.
    package var sessionTime: Duration = .seconds(3600)

    /// Forward secrecy and authenticated encryption only.
    package static let soundCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20"

    /// Every file that is named here.
    package var files: [String] {
        certificates.flatMap { [$0.chainFile, $0.keyFile] } + [clientAuthorities].compactMap(\.self)
            + revocationFiles
    }

    package var clientAuthorities: String? {
        switch clientCertificates {
        case .none: nil
        case .optional(let authorities), .required(let authorities): authorities
        }
    }

    package init(
        certificates: [Certificate],
        clientCertificates: ClientCertificates = .none,
        minimumVersion: Version = .tls12,
        ciphers: String = soundCiphers
    ) {
        self.certificates = certificates
        self.clientCertificates = clientCertificates
        self.minimumVersion = minimumVersion
        self.ciphers = ciphers
    }
}
