import COpenSSL
package import System

/// The identity in a client's certificate.
package struct ClientCertificate: Sendable, Equatable {
    /// Names with their kinds: "dns:phone-7.example.com", "uri:spiffe://fleet/phone", "mail:a@example.com",
    /// "ip:192.0.2.1", or "cn:phone 8" where there is no other. The kind is part of the name, because authorities may
    /// give the same text in different kinds to different clients.
    package let names: [String]
    package let expires: WallTime

    init(_ certificate: OpaquePointer) {
        names = certificateNames(certificate).map { "\($0.kind.rawValue):\($0.text)" }
        expires = TLSCertificate(certificate, file: "").expires
    }
}
