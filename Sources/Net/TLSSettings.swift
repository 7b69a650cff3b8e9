/// A listener's TLS settings.
package struct TLSSettings: Sendable, Equatable {
    package struct Certificate: Sendable, Equatable {
        /// PEM: the server's own certificate, then the intermediates.
        package var chainFile: String
        /// PEM, without a passphrase.
        package var keyFile: String

        package init(chainFile: String, keyFile: String) {
            self.chainFile = chainFile
            self.keyFile = keyFile
        }
    }

    /// The policy for client certificates; `authorities` is a PEM file.
    package enum ClientCertificates: Sendable, Equatable {
        case none
        /// A client without a certificate is admitted without a name; one with an invalid
        /// certificate is refused.
        case optional(authorities: String)
        case required(authorities: String)
    }

    package enum Version: Sendable, Equatable {
        case tls12, tls13
    }

    /// A client gets the certificate for the name it asks for, else the first one.
    package var certificates: [Certificate]
    package var clientCertificates: ClientCertificates
    /// PEM files with certificate revocation lists (CRL). If there are any, each client's authority
    /// needs a current list, and the client must not be on it.
    package var revocationFiles: [String] = []
    /// Clients with a matching name are refused as if their certificate were revoked.
    package var denied: [CertificatePattern] = []
    package var minimumVersion: Version
    /// The cipher list for TLS 1.2, in OpenSSL's syntax; all ciphers of TLS 1.3 are good.
    package var ciphers: String
    /// How long a client may resume its session without showing its certificate again; never beyond
    /// the certificate's end.
    package var sessionTime: Duration = .seconds(3600)

    /// Forward secrecy and authenticated encryption only.
    package static let soundCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20"

    /// All files named in these settings.
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
