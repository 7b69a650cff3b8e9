import COpenSSL
import TestSupport
import Testing

@testable import HTTP
@testable import Net

/// What a client is called by its certificate.
@Suite
struct ClientNameTests {
    static let files = TestCertificates.shared

    private func names(_ subject: String, _ alternatives: String?) -> [String] {
        let name = "named"
        Self.files.issue(
            name,
            subject: subject,
            extensions: alternatives.map { ["subjectAltName=\($0)"] } ?? []
        )
        let file = BIO_new_file(Self.files.certificate(name), "r")
        defer { BIO_free(file) }
        guard let certificate = PEM_read_bio_X509(file, nil, nil, nil) else { return ["none"] }
        defer { X509_free(certificate) }
        return ClientCertificate(certificate).names
    }

    @Test("A certificate's names are all read, each with its kind")
    func kinds() {
        #expect(
            names(
                "/CN=ignored",
                "DNS:phone-7.example.com,URI:spiffe://fleet/phone,email:a@example.com,"
                    + "IP:192.0.2.1,IP:2001:db8::1"
            ) == [
                "dns:phone-7.example.com", "uri:spiffe://fleet/phone", "mail:a@example.com",
                "ip:192.0.2.1", "ip:2001:db8::1",
            ]
        )
    }

    @Test("The common name counts only without a list of alternative names")
    func common() {
        #expect(names("/O=Sluice/CN=phone 8", nil) == ["cn:phone 8"])
        #expect(names("/O=Sluice/CN=Kühlschrank", nil) == ["cn:Kühlschrank"])
        #expect(names("/O=Sluice", nil) == [])
        #expect(names("/CN=phone-7.example.com", "otherName:1.2.3.4;UTF8:mallory") == [])
        #expect(names("/CN=phone-7.example.com", "RID:1.2.3.4") == [])
    }

    @Test(
        "A name that could be mistaken for another one is ignored",
        arguments: [
            "/CN=a\u{202e}b", "/CN=a\u{200b}b", "/CN=a\u{85}b", "/CN=a\u{feff}b", "/CN=a\u{2028}b",
        ]
    )
    func deceiving(subject: String) {
        #expect(names(subject, nil) == [])
    }

    @Test("Alternative names with other characters than visible ASCII are ignored")
    func visible() {
        #expect(names("/CN=x", "DNS:a b,URI:u v,DNS:fine") == ["dns:fine"])
    }
}
