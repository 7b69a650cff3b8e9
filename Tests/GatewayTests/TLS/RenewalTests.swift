import Configuration
import Net
import Rendering
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Certificates that are replaced under a gateway that runs.
@Suite(.timeLimit(.minutes(1))) struct RenewalTests {
    private static let get = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n"
    private static let made = TestCertificates.shared

    @Test("Files swapped by a symbolic link are noticed, and open connections continue")
    func renewal() throws {
        let trial = try SecureGateway("exact")
        let old = try trial.admin().opened(sending: Self.get)
        #expect(old.receives("ok\n"))
        trial.watch.look()
        #expect(trial.saying("certificates reloaded").isEmpty)
        trial.install("wildcard")
        #expect(trial.watch.status.certificates.map(\.names) == [["api.example.com"]])
        trial.watch.look()
        #expect(trial.watch.status.certificates.map(\.names) == [["*.example.com"]])
        #expect(trial.saying("certificates reloaded").count == 1)
        old.send(Self.get.replacing("/healthz", with: "/readyz"))
        #expect(old.receives(#""ready":true"#))
        let new = try trial.admin().opened()
        #expect(try #require(new.tls).shows("web.example.com"))
        #expect(try !#require(old.tls).shows("web.example.com"))
    }

    @Test("Unusable new files keep the served certificates and are reported until fixed")
    func failure() throws {
        let trial = try SecureGateway("exact")
        trial.install("wildcard", key: "exact")
        trial.watch.look()
        // A pair may be caught in the middle.
        #expect(trial.saying("cannot reload certificates").isEmpty)
        #expect(trial.watch.status.problem != nil)
        for _ in 0..<3 { trial.watch.look() }
        let told = trial.saying("cannot reload certificates")
        #expect(told.count == 1)
        #expect(told.first?.contains("does not belong to the first certificate") == true, "\(told)")
        let page = try trial.get("/metrics").text
        #expect(page.contains(#"sluice_tls_renewal_failing{listener="admin"} 1"#))
        let answer = try trial.admin().get(
            "/admin/status",
            ["authorization": "Bearer \(SandboxedGateway.token)"]
        ).body
        let text = View.status.text(of: answer)
        #expect(text.contains("certificate  admin: cannot be renewed: "), "\(text)")
        #expect(trial.watch.status.certificates.map(\.names) == [["api.example.com"]])
        trial.install("wildcard")
        trial.watch.look()
        #expect(trial.watch.status.problem == nil)
        #expect(trial.watch.status.certificates.map(\.names) == [["*.example.com"]])
    }

    @Test("Session ticket keys rotate daily without a changed file")
    func tickets() throws {
        let trial = try SecureGateway()
        func visit(_ session: TLSSession?) throws -> ClientTLS {
            var client = trial.admin()
            client.tls?.session = session
            let connection = try client.opened(sending: Self.get)
            #expect(connection.receives("ok\n"))
            return try #require(connection.tls)
        }
        let first = try visit(nil)
        trial.watch.look()
        #expect(try visit(first.session).isResumed)
        trial.watch.look(.now + .seconds(86_401))
        #expect(try !visit(first.session).isResumed)
        #expect(trial.saying("certificates reloaded").isEmpty)
    }

    @Test("A reload applies new certificate files; unusable files reject the whole reload")
    func reload() throws {
        let trial = try SecureGateway("exact")
        let before = trial.gateway.configuration.withLock { $0 }
        var wrong = before
        wrong.admin.tls?.certificates = [
            .init(chainFile: Self.made.certificate("server"), keyFile: Self.made.key("exact"))
        ]
        wrong.drainTimeout = .seconds(77)
        trial.gateway.reload(wrong)
        #expect(trial.saying("the new configuration is refused").count == 1)
        #expect(trial.gateway.configuration.withLock { $0 } == before)
        #expect(trial.watch.status.certificates.map(\.names) == [["api.example.com"]])
        var right = before
        right.admin.tls?.certificates = [Self.made.files("server")]
        right.admin.tls?.clientCertificates = .required(
            authorities: Self.made.certificate("authority")
        )
        trial.gateway.reload(right)
        #expect(trial.saying(#""changed":"admin.tls""#).count == 1)
        #expect(throws: (any Error).self) { try trial.get("/healthz") }
        #expect(try trial.get("/healthz", "client").status == 200)
        // From here on these are the files that are looked at.
        trial.install("wildcard")
        trial.watch.look()
        #expect(trial.watch.status.certificates.map(\.names) == [["localhost", "127.0.0.1"]])
    }

    @Test("Adding or removing TLS waits for a restart, and the listener is unchanged")
    func onAndOff() throws {
        let trial = try SecureGateway()
        var changed = trial.gateway.configuration.withLock { $0 }
        changed.admin.tls = nil
        trial.gateway.reload(changed)
        #expect(trial.saying(#""keys":"admin.tls""#).count == 1)
        #expect(try trial.get("/healthz").status == 200)
    }
}
