import Configuration
import Net
import TestSupport
import Testing

/// What a command finds out about the listener that it is to talk to.
@Suite struct AdminReachTests {
    private let directory = TemporaryDirectory()

    private func access(
        _ text: String = "",
        _ options: [String: String] = [:],
        _ environment: [String: String] = [:]
    ) throws -> AdminAccess {
        try .find(
            .init(
                file: directory.file("sluice.yaml", text),
                options: options,
                environment: environment
            )
        )
    }

    private let described = "admin: {tls: {certificate: /tls.crt, key: /tls.key}}\n"

    @Test(
        "Without a word of TLS it is plain, with the gateway's own certificate that one is trusted"
    )
    func own() throws {
        #expect(try access().tls == nil)
        #expect(try access(described).tls == AdminTLS(.certificate(file: "/tls.crt")))
        let numeric = try access(described, ["--admin-listen": "127.0.0.2:8081"])
        #expect(numeric.tls == AdminTLS(.certificate(file: "/tls.crt")))
        #expect(numeric.address.description == "127.0.0.2:8081")
        let list = "admin: {tls: {certificates: [{certificate: /a, key: /b}]}}\n"
        #expect(try access(list).tls == AdminTLS(.certificate(file: "/a")))
    }

    @Test("What a gateway made for itself is shown to nobody elsewhere, and no token in the open")
    func strangers() throws {
        _ = directory.file("admin-token", String(repeating: "a", count: 64))
        let data = "data_dir: \(directory.path)\n"
        #expect(try access(data).token != nil)
        let here = try access(data, ["--admin-listen": "http://localhost:8081"])
        #expect(here.token != nil)
        let elsewhere = try access(data, ["--admin-listen": "https://gateway.example.com"])
        #expect(elsewhere.token == nil)
        let given = ["SLUICE_ADMIN_TOKEN": String(repeating: "b", count: 32)]
        let named = try access(data, ["--admin-listen": "https://gateway.example.com"], given)
        #expect(named.token != nil)
        let error = #expect(throws: ConfigurationProblems.self) {
            try access(data, ["--admin-listen": "http://gateway.example.com"], given)
        }
        #expect(error?.description.contains("in the open") == true)
    }

    @Test("A URL names any gateway, which is verified as any other server")
    func url() throws {
        let named = try access(described, ["--admin-listen": "https://gateway.example.com:8081"])
        #expect(named.address.description == "gateway.example.com:8081")
        #expect(named.tls == AdminTLS(.system))
        let byVariable = try access("", [:], ["SLUICE_ADMIN_LISTEN": "https://gateway/"])
        #expect(byVariable.address.description == "gateway:443")
        let plain = try access(described, ["--admin-listen": "http://[::1]:8081"])
        #expect(plain.address.description == "[::1]:8081")
        #expect(plain.tls == nil)
        #expect(
            try access("", ["--admin-listen": "https://localhost:1"]).address.host == "localhost"
        )
    }

    @Test("An authority and a certificate come from options, variables or the file, in this order")
    func files() throws {
        let file = "admin: {client: {ca: /ca.pem, certificate: /c.pem, key: /c.key}}\n"
        let pair = TLSSettings.Certificate(chainFile: "/c.pem", keyFile: "/c.key")
        #expect(
            try access(file).tls == AdminTLS(.authorities(file: "/ca.pem"), certificate: pair)
        )
        let variables = ["SLUICE_ADMIN_CA": "/v.pem", "SLUICE_ADMIN_CERT": "/both.pem"]
        let both = TLSSettings.Certificate(chainFile: "/both.pem", keyFile: "/both.pem")
        #expect(
            try access("", [:], variables).tls
                == AdminTLS(.authorities(file: "/v.pem"), certificate: both)
        )
        #expect(
            try access(file, ["--admin-ca": "/o.pem"], variables).tls?.trust
                == .authorities(file: "/o.pem")
        )
        #expect(try access("", ["--admin-cert": "/both.pem"]).tls?.trust == .system)
    }

    @Test(
        "What cannot be meant is named",
        arguments: [
            (["--admin-listen": "ftp://x:1"], "--admin-listen: \"ftp://x:1\" is no admin listener"),
            (["--admin-listen": "https://a b:1"], "write it like https://gateway.example.com:8081"),
            (["--admin-listen": "https://x:0"], "is no admin listener"),
            (["--admin-listen": "https://:8081"], "is no admin listener"),
            (["--admin-key": "/k"], "--admin-key: there is no certificate for it; give that too"),
        ]
    )
    func mistakes(options: [String: String], part: String) {
        let error = #expect(throws: ConfigurationProblems.self) { try access("", options) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }
}
