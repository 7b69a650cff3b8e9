import Configuration
import Credentials
import Crypto
import Delivery
import HTTP
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct AdminHandlerTests {
    private let trial: SandboxedGateway

    init() throws { trial = try SandboxedGateway() }

    @Test(
        "Nothing but pulse and readiness answers without the token",
        arguments: ["/metrics", "/admin/status", "/admin/anything", "/nothing"]
    )
    func closed(path: String) throws {
        let answer = try trial.admin.get(path)
        #expect(answer.status == 401)
        #expect(answer["www-authenticate"] == "Bearer realm=\"sluice\"")
        let wrong = try trial.admin.get(
            path,
            ["authorization": "Bearer \(String(repeating: "x", count: 32))"]
        )
        #expect(wrong.status == 401)
        #expect(wrong.text == answer.text)
    }

    @Test("A request without a valid token ends its connection")
    func closing() throws {
        let request = "GET /metrics HTTP/1.1\r\nhost: h\r\n\r\n"
        let answer = try trial.admin.exchange(Array((request + request).utf8))
        #expect(answer.status == 401)
        #expect(answer["connection"] == "close")
        #expect(!answer.text.contains("HTTP/1.1"))
    }

    @Test("One address cannot use all admin connections")
    func crowded() throws {
        var strangers: [TestConnection] = []
        for _ in 0..<64 { strangers.append(try trial.admin.opened(sending: "G")) }
        #expect(eventually { (try? trial.admin.get("/healthz").status) == 503 })
        var probe = trial.admin
        probe.source = "127.0.0.2"
        #expect(try probe.get("/healthz").status == 200)
        withExtendedLifetime(strangers) {}
    }

    @Test("/healthz and /readyz need no token", arguments: ["/healthz", "/readyz"])
    func open(path: String) throws {
        #expect(try trial.admin.get(path).status == 200)
    }

    @Test("Unknown paths and methods are refused with the known ones")
    func refused() throws {
        #expect(try trial.admin("/nothing").status == 404)
        let posted = try trial.admin.ask("POST", "/metrics")
        #expect(posted.status == 405)
        #expect(posted["allow"] == "GET, HEAD")
    }

    @Test("Metrics follow the format's rules, also after traffic")
    func metrics() throws {
        _ = try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8)
        _ = try trial.devices.post("/logs/hello", "no".utf8)
        #expect(trial.delivered(1))
        let answer = try trial.admin("/metrics")
        #expect(answer["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        #expect(problems(inMetrics: answer.text) == [])
        for line in [
            #"sluice_logs_accepted_total{destination="default"} 1"#,
            #"sluice_logs_delivered_total{destination="default"} 1"#,
            #"sluice_logs_queued{destination="default"} 0"#,
            #"sluice_logs_skipped_total{destination="default"} 0"#,
            #"sluice_intake_logs_total{outcome="received"} 1"#,
            #"sluice_intake_copies_total 1"#,
            #"sluice_ingest_logs_total{route="logs"} 1"#,
            #"sluice_ingest_refused_total{route="logs",status="400",code="PostBodyInvalid"} 1"#,
            #"sluice_queue_admission{state="open"} 1"#,
            #"sluice_delivery_packets_total{destination="default"} 1"#,
            #"sluice_build_info{version="0.1.0"} 1"#,
        ] {
            #expect(answer.text.contains(line + "\n"), "\(line)")
        }
    }

    @Test("The status has the ledger in total and for each destination")
    func status() throws {
        _ = try trial.devices.post("/logs/hello", #"[{"a":1},{"a":2}]"#.utf8)
        #expect(trial.delivered(2))
        let text = try trial.admin("/admin/status").text
        let ledger =
            #""ledger":{"accepted":2,"delivered":2,"queued":0,"dead":0,"expired":0,"discarded":0,"skipped":0}"#
        #expect(text.ranges(of: ledger).count == 2, "\(text)")
        let intake = #""intake":{"received":2,"filtered":0,"dropped":0,"routed":2,"copies":2}"#
        #expect(text.contains(intake))
        #expect(try trial.admin("/admin/ledger").text.contains(intake))
        #expect(text.contains(#""version":"0.1.0""#))
        #expect(text.contains(#""state":"fine""#))
    }

    @Test("Without delivery, readiness shows the reason and the status the remedy")
    func unreachable() throws {
        let trial = try SandboxedGateway {
            $0.destinations[0].endpoints = [try! Endpoint(parsing: "http://localhost:1")]
        }
        _ = try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8)
        #expect(eventually { !trial.gateway.report.reasonsAgainstTraffic.isEmpty })
        let ready = try trial.admin.get("/readyz")
        #expect(ready.status == 503)
        // Strangers learn no names.
        #expect(ready.text.contains("no destination takes logs"), "\(ready.text)")
        #expect(!ready.text.contains("default") && !ready.text.contains("localhost"))
        let known = try trial.admin("/readyz")
        #expect(known.status == 503 && known.text.contains("destination default"))
        let rebound: KeyValuePairs = ["host": "evil.example", "sec-fetch-site": "same-origin"]
        #expect(try trial.admin.get("/readyz", rebound).status == 403)
        #expect(try trial.admin.get("/readyz", ["host": "gateway.internal"]).status == 503)
        let status = try trial.admin("/admin/status").text
        #expect(!status.contains(#""state":"fine""#))
        #expect(status.contains(#""trouble":"CURLE_7"#))
        #expect(status.contains(#""remedy":""#))
        // Accepting goes on.
        #expect(try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8).status == 200)
    }

    @Test("No browser guesses the type of an answer, and without TLS none is told to insist on it")
    func browserFields() throws {
        for path in ["/healthz", "/readyz", "/metrics", "/admin/status", "/console/", "/none"] {
            for answer in [try trial.admin(path), try trial.admin.get(path)] {
                let fields = answer.fields.filter { $0.name == "x-content-type-options" }
                #expect(fields.map(\.value) == ["nosniff"], "\(path)")
                #expect(answer["strict-transport-security"] == nil)
            }
        }
    }

    @Test("A guess at /readyz counts as one at any other path")
    func guesses() throws {
        var guesser = trial.admin
        guesser.source = "127.0.0.9"
        for number in 1...8 {
            _ = try guesser.get("/readyz", ["authorization": "Bearer wrong \(number)"])
        }
        #expect(try guesser.ask("GET", "/metrics").status == 429)
    }

    @Test("No answer ever shows a key or the token")
    func secrets() throws {
        _ = try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8)
        #expect(trial.delivered(1))
        let credential = trial.gateway.keeper.credential(named: "default")
        let secret = try #require(credential?.secret.revealed)
        for path in ["/metrics", "/admin/status", "/readyz", "/nothing"] {
            let answer = try trial.admin(path)
            let all = answer.text + answer.fields.map { $0.name + $0.value }.joined()
            #expect(!all.contains(secret))
            #expect(!all.contains(SandboxedGateway.token))
        }
        #expect(!"\(trial.gateway.configuration.withLock { $0 })".contains(secret))
    }
}

/// What the admin listener answers to whatever it does not do.
@Suite(.timeLimit(.minutes(10))) struct AdminMethodTests {
    private static let reading = [
        "/healthz", "/readyz", "/metrics", "/admin/status", "/admin/queue", "/admin/ledger",
        "/admin/audit", "/admin/drain", "/admin/openapi.json", "/admin/credentials",
        "/admin/credentials/default", "/admin/destinations", "/admin/destinations/default",
        "/admin/routes",
        "/admin/dead-letters", "/admin/dead-letters/export",
    ]
    private static let changing = [
        "/admin/credentials/default/verify", "/admin/destinations/default/pause",
        "/admin/destinations/default/resume", "/admin/destinations/default/flush",
        "/admin/dead-letters/replay", "/admin/dead-letters/purge", "/admin/routes/test",
    ]

    let trial: SandboxedGateway

    init() throws {
        trial = try SandboxedGateway()
    }

    private func ask(
        _ method: String,
        _ path: String,
        token: Bool = true
    ) throws -> TestAnswer {
        guard token else { return try trial.admin.send(method, path) }
        return try trial.admin.send(
            method,
            path,
            [],
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "origin": "https://evil.example",
                "access-control-request-method": "PUT",
            ]
        )
    }

    @Test("HEAD answers like GET without content, and 405 on paths without GET")
    func heads() throws {
        for path in Self.reading {
            let (head, get) = (try ask("HEAD", path), try ask("GET", path))
            #expect(head.status == 200, "\(path)")
            #expect(head.body.isEmpty)
            #expect(head["content-type"] == get["content-type"])
        }
        for path in Self.changing {
            let head = try ask("HEAD", path)
            #expect(head.status == 405 && head.body.isEmpty, "\(path)")
            #expect(head["allow"] == "POST")
        }
    }

    @Test("OPTIONS gets 405 on every path, and no answer has CORS fields")
    func options() throws {
        for path in Self.reading + Self.changing {
            let options = try ask("OPTIONS", path)
            #expect(options.status == 405, "\(path)")
            #expect(options["allow"] != nil)
            let answers = [options, try ask("GET", path), try ask("TRACE", path)]
            for answer in answers {
                let shared = answer.fields.filter {
                    $0.name.lowercased().hasPrefix("access-control")
                }
                #expect(shared.isEmpty, "\(path)")
            }
        }
        #expect(try ask("OPTIONS", "/admin/status", token: false).status == 401)
    }

    @Test("An unknown parameter gets 400 with its name, and changes nothing")
    func parameters() throws {
        for (method, paths) in [("GET", Self.reading), ("POST", Self.changing)] {
            for path in paths {
                let answer = try ask(method, path + "?colour=red")
                #expect(answer.status == 400, "\(path)")
                #expect(answer.text.contains("colour is not a parameter here"), "\(answer.text)")
            }
        }
        #expect(try ask("DELETE", "/admin/drain?now").status == 400)
        #expect(trial.gateway.report.destinations[0].delivery.state != .held)
        #expect(try ask("GET", "/admin/audit?limit=3").status == 200)
        let twice = try ask("GET", "/admin/audit?limit=3&limit=4")
        #expect(twice.status == 400 && twice.text.contains("limit is given twice"))
        #expect(try ask("GET", "/admin/audit?a=%zz").status == 400)
        // A list does not take what chooses among letters to be changed.
        #expect(try ask("GET", "/admin/dead-letters?all=true").status == 400)
    }

    @Test(
        "Numbers of dead letters are digits, and none is left out",
        arguments: ["ids=", "ids=1,,2", "ids=1,", "ids=%2B1", "ids=0", "ids=1,2&all=true"]
    )
    func numbers(query: String) throws {
        for verb in ["replay", "purge"] {
            let answer = try ask("POST", "/admin/dead-letters/\(verb)?\(query)")
            #expect(answer.status == 400, "\(verb) \(query): \(answer.text)")
        }
    }
}
