import COpenSSL
package import System

/// Who a client is by the certificate that it has shown.
package struct ClientCertificate: Sendable, Equatable {
    /// Each with its kind, since authorities may give the same text in different kinds to different
    /// clients: "dns:phone-7.example.com", "uri:spiffe://fleet/phone", "mail:a@example.com",
    /// "ip:192.0.2.1", or "cn:phone 8" where there is nothing else.
    package let names: [String]
    package let expires: WallTime

    init(_ certificate: OpaquePointer) {
        names = certificateNames(certificate).map { "\($0.kind.rawValue):\($0.text)" }
        expires = TLSCertificate(certificate, file: "").expires
    }
}
