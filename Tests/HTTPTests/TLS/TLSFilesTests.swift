import COpenSSL
import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// What is said about files that cannot be used, and about those that soon cannot.
@Suite(.timeLimit(.minutes(10)))
struct TLSFilesTests {
    static let files = TestCertificates.shared

    private func error(
        chain: String,
        key: String,
        clients: TLSSettings.ClientCertificates = .none,
        ciphers: String = TLSSettings.soundCiphers
    ) -> TLSError? {
        error(
            TLSSettings(
                certificates: [TLSSettings.Certificate(chainFile: chain, keyFile: key)],
                clientCertificates: clients,
                ciphers: ciphers
            )
        )
    }

    private func error(_ settings: TLSSettings) -> TLSError? {
        do throws(TLSError) {
            _ = try TLSContext(settings)
            return nil
        } catch {
            return error
        }
    }

    @Test("An error names the file and what is wrong with it")
    func errors() {
        let certificate = Self.files.certificate("server")
        let key = Self.files.key("server")
        let other = Self.files.key("client")
        let text = Self.files.file("text", "not PEM\n")
        let locked = "\(Self.files.directory)/locked"
        Self.files.openssl(
            ["pkey", "-aes128", "-passout", "pass:secret", "-in", key, "-out", locked]
        )
        let reason = "No such file or directory"
        #expect(error(chain: certificate, key: key) == nil)
        #expect(
            error(chain: "/nowhere", key: key) == .unreadable(file: "/nowhere", reason: reason)
        )
        #expect(
            error(chain: certificate, key: "/nowhere")
                == .unreadable(file: "/nowhere", reason: reason)
        )
        #expect(error(chain: text, key: key) == .holdsNoCertificate(file: text))
        #expect(error(chain: key, key: key) == .holdsNoCertificate(file: key))
        #expect(error(chain: certificate, key: text) == .holdsNoKey(file: text))
        #expect(error(chain: certificate, key: certificate) == .holdsNoKey(file: certificate))
        let directory = error(chain: certificate, key: "/tmp")
        #expect(directory == .unreadable(file: "/tmp", reason: "Is a directory"))
        #expect(error(chain: certificate, key: locked) == .keyIsLocked(file: locked))
        #expect(
            error(chain: certificate, key: other)
                == .keyDoesNotFit(key: other, certificate: certificate)
        )
        #expect(
            error(chain: certificate, key: key, clients: .required(authorities: text))
                == .holdsNoCertificate(file: text)
        )
        #expect(
            error(chain: certificate, key: key, ciphers: "none of these")
                == .noSuchCiphers("none of these")
        )
    }

    @Test("A certificate that is too weak is refused with the reason")
    func weak() {
        let certificate = "\(Self.files.directory)/weak.pem"
        let key = "\(Self.files.directory)/weak.key"
        Self.files.openssl(
            [
                "req", "-x509", "-newkey", "rsa:1024", "-nodes", "-days", "2", "-subj", "/CN=x",
                "-keyout", key, "-out", certificate,
            ]
        )
        #expect(
            error(chain: certificate, key: key)
                == .refused(file: certificate, reason: "ee key too small")
        )
    }

    @Test(
        "Each error names its remedy",
        arguments: [
            TLSError.noCertificate, .unreadable(file: "f", reason: "r"),
            .holdsNoCertificate(file: "f"),
            .holdsNoKey(file: "f"), .keyIsLocked(file: "f"),
            .keyDoesNotFit(key: "f", certificate: "g"), .refused(file: "f", reason: "r"),
            .noSuchCiphers("f"),
        ]
    )
    func remedies(error: TLSError) {
        #expect("\(error)".contains("; "))
        #expect(error == .noCertificate || "\(error)".contains("f"))
    }

    @Test("An expired certificate, and one that is not valid yet, is a warning")
    func warnings() throws {
        let context = try TLSContext(TLSSettings(certificates: [Self.files.files("server")]))
        let certificate = try #require(context.certificates.first)
        #expect(certificate.expires.seconds - certificate.begins.seconds == 2 * 86_400)
        let now = WallTime.now
        #expect(context.warnings(at: now).isEmpty)
        let later = context.warnings(at: WallTime(seconds: now.seconds + 3 * 86_400))
        #expect(later.count == 1)
        #expect(later.first?.contains(" expired at 20") == true)
        #expect(later.first?.contains(certificate.file) == true)
        // The last fifth of its two days.
        let late = WallTime(seconds: certificate.expires.seconds - 9 * 3600)
        #expect(context.warnings(at: late).first?.contains("should have been renewed") == true)
        #expect(context.warnings(at: late + .seconds(-3600)).isEmpty)
        let earlier = context.warnings(at: WallTime(seconds: now.seconds - 86_400))
        #expect(earlier.first?.contains("is valid from 20") == true)
    }

    // MARK: - Files that broke, or were still being written

    /// Of the second certificate, what came so far.
    static let rests: [(name: String, rest: @Sendable (String) -> String)] = [
        ("cut in its middle", { String($0.prefix($0.count / 2)) }),
        ("cut in its last line", { String($0.dropLast(10)) }),
        ("with a byte that is none of base64", { $0.replacing("MII", with: "MI?") }),
    ]

    private func refuses(_ settings: TLSSettings, _ file: String) -> Bool {
        error(settings).map { "\($0)".hasPrefix("\(file) is damaged") } ?? false
    }

    @Test("A damaged chain or list of authorities is refused as a whole", arguments: 0..<3)
    func damaged(kind: Int) throws {
        let own = Self.files.content(Self.files.certificate("server"))
        let next = Self.files.content(Self.files.certificate("authority"))
        let (name, rest) = Self.rests[kind]
        let file = Self.files.file("damaged-\(kind).pem", own + rest(next) + "\n" + next)
        let key = Self.files.key("server")
        #expect(
            refuses(
                TLSSettings(
                    certificates: [TLSSettings.Certificate(chainFile: file, keyFile: key)]
                ),
                file
            ),
            "\(name)"
        )
        let listed = TLSSettings(
            certificates: [Self.files.files("server")],
            clientCertificates: .required(authorities: file)
        )
        #expect(refuses(listed, file), "\(name)")
    }

    @Test("Text between certificates is ignored")
    func remarks() throws {
        let own = Self.files.content(Self.files.certificate("server"))
        let next = Self.files.content(Self.files.certificate("authority"))
        let file = Self.files.file("remarks.pem", "own:\n\(own)\nnext:\n\(next)\nno more\n")
        _ = try TLSContext(
            TLSSettings(
                certificates: [
                    TLSSettings.Certificate(chainFile: file, keyFile: Self.files.key("server"))
                ]
            )
        )
    }

    // MARK: - Several certificates for one name

    private func pair(_ name: String, rsa: Bool) -> TLSSettings.Certificate {
        Self.files.issue(
            name,
            subject: "/CN=\(name)",
            key: rsa ? ["rsa:2048"] : ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
            extensions: ["subjectAltName=DNS:kinds.example.com"]
        )
        return Self.files.files(name)
    }

    /// The kind of key that a client is shown which can use one kind only.
    private func shown(_ server: TestServer, ciphers: String) throws -> CInt? {
        let client = try server.client()
        let options = ClientTLS.Options(serverName: "kinds.example.com.", version: TLS1_2_VERSION)
        let tls = ClientTLS(options, descriptor: client.descriptor)
        SSL_set_cipher_list(tls.tls, ciphers)
        guard tls.connect(), let certificate = SSL_get0_peer_certificate(tls.tls) else {
            return nil
        }
        return EVP_PKEY_get_base_id(X509_get0_pubkey(certificate))
    }

    @Test("A name may have one certificate for each kind of key; a second one is a warning")
    func kinds() throws {
        let settings = TLSSettings(
            certificates: [
                Self.files.files("server"), pair("kind-ec", rsa: false),
                pair("kind-rsa", rsa: true),
                pair("kind-again", rsa: true),
            ]
        )
        let context = try TLSContext(settings)
        #expect(context.certificates.count == 4)
        let server = try TestServer(tls: context)
        #expect(try shown(server, ciphers: "ECDHE+aECDSA") == EVP_PKEY_EC)
        #expect(try shown(server, ciphers: "ECDHE+aRSA") == EVP_PKEY_RSA)
        let warnings = context.warnings(at: .now)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains(Self.files.certificate("kind-again")) == true)
        #expect(warnings.first?.contains(Self.files.certificate("kind-rsa")) == true)
    }
}
