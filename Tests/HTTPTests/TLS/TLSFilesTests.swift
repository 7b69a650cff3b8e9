import Glibc
import Net
import System
import TestSupport
import Testing

/// What is said about files that cannot be used, and about those that soon cannot.
@Suite
struct TLSFilesTests {
    static let files = TestCertificates.shared

    private func error(
        chain: String,
        key: String,
        clients: TLSSettings.ClientCertificates = .none,
        ciphers: String = TLSSettings.soundCiphers
    ) -> TLSError? {
        do throws(TLSError) {
            _ = try TLSContext(
                TLSSettings(
                    certificates: [TLSSettings.Certificate(chainFile: chain, keyFile: key)],
                    clientCertificates: clients,
                    ciphers: ciphers
                )
            )
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
        #expect(error(chain: certificate, key: "/tmp") == .holdsNoKey(file: "/tmp"))
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
}
