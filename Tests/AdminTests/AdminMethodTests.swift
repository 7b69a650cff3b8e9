import Delivery
import HTTP
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// What the admin listener answers to whatever it does not do.
@Suite(.timeLimit(.minutes(1))) struct AdminMethodTests {
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
