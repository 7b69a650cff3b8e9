import Crypto
import Glibc
import HTTP
import Net
import SLS
import Sandbox
import System
import TestSupport
import Testing

@testable import Resolvers

/// The gateway's resolvers against the sandbox's look-alikes, which were written from the protocols
/// alone, and against real programs.
@Suite(.timeLimit(.minutes(10))) struct LookAlikeTests {
    private let directory = TemporaryDirectory()
    private let journal = JournalRecorder()
    private let files = TestCertificates.shared
    private let host = "demo.sluice-test.invalid"
    private let accounts = ResolverAccounts()

    private func sandbox(isEncrypted: Bool = false) throws -> SandboxServer {
        var configuration = SandboxConfiguration(
            listen: ListenAddress(host: "127.0.0.1", port: 0),
            keys: [Credential(accessKeyID: "id", secret: Secret("secret"))]
        )
        configuration.resolver = accounts
        if isEncrypted {
            configuration.tls = try TLSContext(TLSSettings(certificates: [files.files("server")]))
        }
        return try SandboxServer(configuration, journal: .silent)
    }

    private func control(_ sandbox: SandboxServer, _ path: String, _ json: String) throws {
        #expect(try TestClient(address: sandbox.address).post(path, json.utf8).status == 200)
    }

    private func server(_ sandbox: SandboxServer) throws -> ResolverServer {
        try #require(ResolverServer("http://\(sandbox.address)"))
    }

    /// Every dialect with every way to prove and hide.
    private func dialects(_ server: ResolverServer) -> [(String, ResolverSettings.Kind)] {
        var old = AlibabaAccount(id: accounts.alibaba)
        old.servers = [server]
        old.version = .v1
        old.secret = accounts.secret
        var plain = old
        plain.version = .v2
        var gcm = plain
        gcm.aesKey = accounts.aesKey
        var cbc = gcm
        cbc.encryption = .cbc
        let tencent = [TencentAccount.Access.aes, TencentAccount.Access.des].map { access in
            var account = TencentAccount(access(accounts.tencent, accounts.tencentKey))
            account.servers = [server]
            return account
        }
        let json = DoHSettings(server: server, path: "/resolve")
        let key = AlibabaJSON.Account(user: accounts.alibaba, key: "id", secret: accounts.secret)
        return [
            ("version 1", .alibaba(old)), ("version 2", .alibaba(plain)), ("GCM", .alibaba(gcm)),
            ("CBC", .alibaba(cbc)), ("AES", .tencent(tencent[0])), ("DES", .tencent(tencent[1])),
            ("DoH", .doh(DoHSettings(server: server, path: "/dns-query"))),
            ("JSON", .json(json, nil)), ("JSON with a key", .json(json, key)),
        ]
    }

    private func service(_ kind: ResolverSettings.Kind, authority: String? = nil) throws
        -> NameService
    {
        var settings = NameSettings()
        var resolver = ResolverSettings(kind)
        resolver.authorities = authority
        settings.resolvers = ["it": resolver]
        let service = try NameService(settings, directory: nil, journal: journal.journal)
        try service.start()
        return service
    }

    private func found(_ service: NameService, _ host: String? = nil) -> Set<String> {
        let use = service.addresses(of: host ?? self.host, port: 443, by: ["it"])
        guard case .known(let known) = use.addresses.view(atMost: .seconds(20)) else { return [] }
        return Set(known.targets.map { "\($0.address)" })
    }

    @Test("Both sides read each dialect in the same way")
    func agree() throws {
        let sandbox = try sandbox()
        defer { sandbox.stop() }
        try control(
            sandbox,
            "/names",
            #"{"host":"\#(host)","addresses":["192.0.2.1","192.0.2.2","2001:db8::1"],"ttl":30}"#
        )
        for (name, kind) in dialects(try server(sandbox)) {
            let service = try service(kind)
            defer { service.stop() }
            #expect(found(service) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"], "\(name)")
            #expect(found(service, "other.sluice-test.invalid") == ["127.0.0.1"], "\(name)")
        }
        #expect(journal.count(of: "resolver does not answer") == 0)
    }

    @Test(
        "Whatever a resolver does, the host is without an address and the gateway goes on",
        arguments: [
            #"{"resolver":"any","addresses":[]}"#, #"{"resolver":"any","reset":true}"#,
            #"{"resolver":"any","truncate":true}"#, #"{"resolver":"any","body":"<html>hello"}"#,
            #"{"resolver":"any","pad_bytes":200000}"#, #"{"resolver":"any","status":500}"#,
            #"{"resolver":"any","code":"LimitExceeded"}"#, #"{"resolver":"any","status":429}"#,
            #"{"resolver":"any","code":"InvalidSignature"}"#,
        ]
    )
    func faults(fault: String) throws {
        let sandbox = try sandbox()
        defer { sandbox.stop() }
        try control(sandbox, "/faults", fault)
        var settings = NameSettings()
        for (name, kind) in dialects(try server(sandbox)) {
            settings.resolvers[name] = ResolverSettings(kind)
        }
        let service = try NameService(settings, directory: nil, journal: .silent)
        try service.start()
        defer { service.stop() }
        let uses = settings.resolvers.keys.enumerated().map { number, name in
            service.addresses(of: "h\(number).sluice-test.invalid", port: 443, by: [name])
        }
        for use in uses {
            if case .known(let known) = use.addresses.view(atMost: .seconds(20)) {
                Issue.record("\(known.targets) of \(known.resolver)")
            }
        }
    }

    @Test("A clock that is a day off is corrected by the server's")
    func clock() throws {
        for offset in [-90_000, 90_000] {
            let sandbox = try sandbox()
            defer { sandbox.stop() }
            try control(sandbox, "/faults", #"{"resolver":"any","clock_offset_s":\#(offset)}"#)
            for (name, kind) in dialects(try server(sandbox)) where name.contains("ersion") {
                let service = try service(kind)
                defer { service.stop() }
                #expect(found(service) == ["127.0.0.1"], "\(name), \(offset)")
            }
        }
    }

    // MARK: - Real programs

    private func doh(_ port: UInt16) throws -> ResolverSettings.Kind {
        let server = try #require(ResolverServer("https://127.0.0.1:\(port)"))
        return .doh(DoHSettings(server: server, path: "/dns-query"))
    }

    @Test("curl finds hosts through the sandbox's DNS over HTTPS")
    func curl() throws {
        let (dns, web) = (try sandbox(isEncrypted: true), try sandbox())
        defer {
            dns.stop()
            web.stop()
        }
        let authority = files.certificate("authority")
        func fetch() throws -> CInt {
            try ChildProcess([
                "/usr/bin/curl", "-sf", "--max-time", "20", "--noproxy", "*", "--cacert", authority,
                "--doh-url", "https://127.0.0.1:\(dns.address.port)/dns-query",
                "http://demo.sluice-sandbox.example:\(web.address.port)/stats",
            ]).wait()
        }
        #expect(try fetch() == 0)
        // The gateway's own side, over TLS.
        let service = try service(try doh(dns.address.port), authority: authority)
        defer { service.stop() }
        #expect(found(service) == ["127.0.0.1"])
        let asked = try ChildProcess([
            "/usr/bin/curl", "-sf", "--max-time", "20", "--noproxy", "*", "--cacert", authority,
            "-d", #"{"resolver":"doh","addresses":[]}"#,
            "https://127.0.0.1:\(dns.address.port)/faults",
        ])
        #expect(asked.wait() == 0)
        #expect(try fetch() == 6)
    }

    @Test(
        "unbound is asked over HTTPS",
        .enabled(if: access("/usr/sbin/unbound", X_OK) == 0, "unbound is not installed")
    )
    func unbound() throws {
        let port = freePort()
        let file = directory.file(
            "unbound.conf",
            """
            server:
              interface: 127.0.0.1@\(port)
              https-port: \(port)
              tls-service-key: "\(files.key("server"))"
              tls-service-pem: "\(files.certificate("server"))"
              chroot: ""
              username: ""
              directory: "\(directory.path)"
              pidfile: ""
              use-syslog: no
              do-daemonize: no
              module-config: "iterator"
              local-zone: "sluice-test.invalid." static
              local-data: "\(host). 77 IN A 192.0.2.1"
              local-data: "\(host). 77 IN A 192.0.2.2"
              local-data: "\(host). 55 IN AAAA 2001:db8::1"
              local-data: "alias.sluice-test.invalid. 66 IN CNAME \(host)."
              local-data: "four.sluice-test.invalid. 66 IN A 192.0.2.4"
            """
        )
        let program = try ChildProcess(["/usr/sbin/unbound", "-d", "-c", file])
        defer { program.stop() }
        let address = ListenAddress(host: "127.0.0.1", port: port)
        #expect(eventually { (try? TestConnection(to: address, seconds: 1)) != nil })
        let service = try service(try doh(port), authority: files.certificate("authority"))
        defer { service.stop() }
        #expect(found(service) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"])
        #expect(found(service, "four.sluice-test.invalid") == ["192.0.2.4"])
        // NXDOMAIN, which the system confirms.
        #expect(found(service, "none.sluice-test.invalid") == [])
        #expect(journal.count(of: "resolver does not answer") == 0)
        // A gateway that trusts another authority refuses unbound's certificate.
        let stranger = try self.service(try doh(port), authority: files.certificate("stranger"))
        defer { stranger.stop() }
        #expect(found(stranger) == [])
    }
}
