import Configuration
import Crypto
import Glibc
import SLS
import System
import TestSupport
import Testing

@testable import Delivery
@testable import HTTPClient

@Suite(.timeLimit(.minutes(10))) struct ProxyDeliveryTests {
    /// "alice:hunter2" in base64.
    static let basic = "Proxy-Authorization: Basic YWxpY2U6aHVudGVyMg=="

    func proxy(_ scheme: String, _ port: Int, login: String = "") throws -> Proxy {
        try Proxy(parsing: "\(scheme)://\(login)127.0.0.1:\(port)")
    }

    @Test("Plain http is asked of the proxy, which finds the address")
    func forwarding() throws {
        // What stands here is the proxy, and answers for SLS.
        let server = try ScriptedServer()
        let proxy = try proxy("http", server.port, login: "alice:hunter2@")
        let endpoint = try Endpoint(parsing: "http://nowhere.invalid")
        let rig = try Rig(server) {
            $0.endpoints = [endpoint]
            $0.transfer.transport.proxy = proxy
        }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        let head = server.requests.now[0].head
        #expect(head.hasPrefix("POST http://demo-project.nowhere.invalid/logstores/app-log"))
        #expect(head.contains(Self.basic))
    }

    @Test("TLS goes through a tunnel, and the proxy sees names alone", arguments: [true, false])
    func tunnel(isTrusted: Bool) throws {
        let tls = try TLSServer(for: "localhost")
        defer { tls.stop() }
        let tunnel = try TunnelProxy(.connect, login: Self.basic)
        let proxy = try proxy("http", tunnel.port, login: "alice:hunter2@")
        let endpoint = try Endpoint(parsing: "https://localhost:\(tls.port)")
        let rig = try Rig(ScriptedServer()) {
            $0.endpoints = [endpoint]
            $0.transfer.transport.proxy = proxy
            $0.transfer.transport.certificateAuthorities = isTrusted ? tls.certificate : nil
        }
        rig.source.offer(1)
        if isTrusted {
            #expect(tls.output.read(until: "POST /logstores/app-log/shards/lb") != nil)
            tls.input.write(
                "HTTP/1.1 200 OK\r\nx-log-requestid: 5642FC2399248C8F7B0145FD\r\n"
                    + "Content-Length: 0\r\n\r\n"
            )
            #expect(rig.source.state.wait { $0.acknowledged == [1] })
        } else {
            #expect(rig.recorder.lines.wait { $0.joined().contains("CURLE_60") })
            #expect(rig.source.state.now.acknowledged.isEmpty)
        }
        rig.stop()
        tunnel.stop()
        let visit = tunnel.visits.now[0]
        #expect(visit.target == "demo-project.localhost:\(tls.port)")
        let head = visit.head.lowercased()
        #expect(!head.contains("x-acs-security-token"))
        #expect(!head.contains("\r\nauthorization"))
        #expect(!head.contains("x-log-"))
    }

    @Test("With SOCKS the proxy finds the address too", arguments: [nil, "alice:hunter2"])
    func socks(login: String?) throws {
        let server = try ScriptedServer()
        let tunnel = try TunnelProxy(.socks5, login: login)
        let proxy = try proxy("socks5h", tunnel.port, login: login.map { "\($0)@" } ?? "")
        let endpoint = try Endpoint(parsing: "http://nowhere.invalid:\(server.port)")
        let rig = try Rig(server) {
            $0.endpoints = [endpoint]
            $0.transfer.transport.proxy = proxy
        }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        tunnel.stop()
        #expect(tunnel.visits.now[0].target == "demo-project.nowhere.invalid:\(server.port)")
        #expect(server.requests.now[0].head.hasPrefix("POST /logstores/app-log"))
    }

    @Test(
        "A proxy that refuses is told from SLS, without the password",
        arguments: [
            ("http", "https://localhost:1", "check user and password in proxy"),
            ("socks5h", "http://localhost:1", "check proxy"),
        ]
    )
    func refusal(scheme: String, endpoint: String, remedy: String) throws {
        let tunnel = try TunnelProxy(scheme == "http" ? .connect : .socks5, login: "somebody else")
        let proxy = try proxy(scheme, tunnel.port, login: "alice:hunter2@")
        let place = try Endpoint(parsing: endpoint)
        let rig = try Rig(ScriptedServer()) {
            $0.endpoints = [place]
            $0.transfer.transport.proxy = proxy
        }
        rig.source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("delivery failed") } })
        rig.stop()
        tunnel.stop()
        let failure = rig.status.lastFailure
        #expect(failure?.kind == .network)
        #expect(failure?.remedy.contains(remedy) == true)
        #expect(!rig.recorder.lines.now.joined().contains("hunter2"))
        #expect(!"\(String(reflecting: rig.status))".contains("hunter2"))
    }

    @Test("A proxy spoken to by TLS shows its certificate, or is told nothing")
    func encryptedProxy() throws {
        for isTrusted in [true, false] {
            let tls = try TLSServer(named: "localhost")
            defer { tls.stop() }
            let source = MemorySource()
            let proxy = try Proxy(parsing: "https://alice:hunter2@localhost:\(tls.port)")
            let endpoint = try Endpoint(parsing: "https://nowhere.invalid")
            let rig = try Rig(source, ScriptedServer()) {
                $0.endpoints = [endpoint]
                $0.transfer.transport.proxy = proxy
                $0.transfer.transport.certificateAuthorities = isTrusted ? tls.certificate : nil
            }
            source.offer(1)
            if isTrusted {
                let said = tls.output.read(until: "Proxy-Authorization: Basic")
                #expect(said?.contains("CONNECT demo-project.nowhere.invalid:443") == true)
                tls.input.write("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n")
                #expect(rig.recorder.lines.wait { $0.joined().contains("(503)") })
            } else {
                #expect(rig.recorder.lines.wait { $0.joined().contains("CURLE_60") })
            }
            rig.stop()
        }
    }

    @Test("Exceptions from proxies in the environment are not obeyed either")
    func environment() async {
        await #expect(processExitsWith: .success) {
            for name in ["no_proxy", "NO_PROXY"] { setenv(name, "*", 1) }
            let source = MemorySource()
            let server = try ScriptedServer()
            let proxy = try Proxy(parsing: "http://127.0.0.1:\(server.port)")
            let endpoint = try Endpoint(parsing: "http://nowhere.invalid")
            let rig = try Rig(source, server) {
                $0.endpoints = [endpoint]
                $0.transfer.transport.proxy = proxy
            }
            source.offer(1)
            let isDelivered = source.state.wait { $0.acknowledged == [1] }
            rig.stop()
            exit(isDelivered ? 0 : 1)
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct NamesAndProxiesTests {
    @Test("At localhost the project is part of the name, which leads to this machine")
    func localhost() throws {
        let server = try ScriptedServer()
        let rig = try Rig(server) { settings in
            guard let endpoint = try? Endpoint(parsing: "http://localhost:\(server.port)") else {
                return
            }
            settings.endpoints = [endpoint]
        }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        let request = server.requests.now[0]
        #expect(request.header("host") == "demo-project.localhost:\(server.port)")
        #expect(request.header("x-log-project") == nil)
    }

    @Test("A proxy in the environment is not obeyed")
    func proxy() async {
        await #expect(processExitsWith: .success) {
            for name in ["http_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
                setenv(name, "http://127.0.0.1:1", 1)
            }
            let source = MemorySource()
            let rig = try Rig(source, ScriptedServer())
            source.offer(1)
            let isDelivered = source.state.wait { $0.acknowledged == [1] }
            rig.stop()
            exit(isDelivered ? 0 : 1)
        }
    }

    @Test("A destination without encryption is worth a warning, unless it is this machine")
    func plainText() throws {
        let recorder = JournalRecorder()
        for endpoint in ["http://logs.example.com", "http://127.0.0.1:1", "http://localhost:1"] {
            var settings = try Samples.destination(port: 1)
            settings.endpoints = [try Endpoint(parsing: endpoint)]
            let forwarder = try Forwarder.started(
                [settings],
                source: MemorySource(),
                journal: recorder.journal
            )
            forwarder.stop(within: .zero)
        }
        #expect(recorder.lines.now.count == 1)
        #expect(recorder.lines.now.first?.contains("http://logs.example.com") == true)
    }
}
