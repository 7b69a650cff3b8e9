import Configuration
import Crypto
import Delivery
import Foundation
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Ingest
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct ConsoleTests {
    private static let looker = String(repeating: "l", count: 32)

    private func trial(
        _ change: @escaping @Sendable (inout GatewayConfiguration) -> Void = { _ in }
    ) throws -> SandboxedGateway {
        try SandboxedGateway {
            $0.admin.tokens = [
                NamedToken(name: "grafana", secret: Secret(Self.looker), role: .read)
            ]
            change(&$0)
        }
    }

    /// Logs in, and returns the cookie as a browser sends it back.
    private func login(
        _ trial: SandboxedGateway,
        _ token: String = SandboxedGateway.token
    ) throws -> String {
        let bearer: KeyValuePairs = ["authorization": "Bearer \(token)", "host": "127.0.0.1"]
        let answer = try trial.admin.post("/admin/session", [], bearer)
        #expect(answer.status == 200, "\(answer.text)")
        let cookie = try #require(answer["set-cookie"])
        #expect(cookie.contains("; HttpOnly; SameSite=Strict"))
        return String(cookie.prefix { $0 != ";" })
    }

    /// With which the console's page changes something.
    private func fields(of cookie: String) -> KeyValuePairs<String, String> {
        let host = "127.0.0.1"
        return ["cookie": cookie, "host": host, "x-sluice-csrf": "1", "origin": "http://\(host)"]
    }

    private func pause(
        _ trial: SandboxedGateway,
        _ fields: KeyValuePairs<String, String>
    ) throws -> Int {
        try trial.admin.post("/admin/destinations/default/pause", [UInt8](), fields).status
    }

    @Test(
        "A session reads without more, and changes only with the field that other sites cannot add"
    )
    func sessions() throws {
        let trial = try trial()
        let cookie = try login(trial)
        let own: KeyValuePairs = ["cookie": cookie, "host": "localhost:8081"]
        #expect(try trial.admin.get("/admin/status", own).status == 200)
        let who = try trial.admin.get("/admin/session", ["cookie": cookie, "host": "127.0.0.1"])
        #expect(who.text.contains(#""name":"admin","role":"full","expires":"2"#), "\(who.text)")
        #expect(try pause(trial, ["cookie": cookie, "host": "127.0.0.1"]) == 403)
        let allowed: KeyValuePairs = ["cookie": cookie, "host": "127.0.0.1", "x-sluice-csrf": "1"]
        func with(_ name: String, _ value: String) throws -> Int {
            let host = "127.0.0.1:8081"
            return try pause(
                trial,
                ["cookie": cookie, "host": host, "x-sluice-csrf": "1", name: value]
            )
        }
        #expect(try pause(trial, allowed) == 403)
        #expect(try with("origin", "https://evil.example") == 403)
        #expect(try with("origin", "null") == 403)
        #expect(try with("sec-fetch-site", "cross-site") == 403)
        #expect(trial.gateway.report.destinations[0].delivery.state != .held)
        #expect(try with("origin", "http://127.0.0.1:8081") == 200)
    }

    @Test("A session counts also beside cookies of its name that others on this host set")
    func plantedCookie() throws {
        let trial = try trial()
        let cookie = try login(trial)
        let planted = "sluice=0123; \(cookie); sluice=\(String(repeating: "0", count: 64))"
        let answer = try trial.admin.get("/admin/status", ["cookie": planted, "host": "127.0.0.1"])
        #expect(answer.status == 200)
    }

    @Test("Another host's name is refused, unless the configuration knows it")
    func hosts() throws {
        let trial = try trial { $0.admin.hosts = ["sluice.example"] }
        let cookie = try login(trial)
        for (host, status) in [
            ("evil.example", 403), ("sluice.example:8081", 200), ("[::1]:8081", 200),
            ("SLUICE.example", 200), ("10.0.0.7", 200), ("x.localhost", 200), ("", 403),
        ] {
            let answer = try trial.admin.get("/admin/status", ["cookie": cookie, "host": host])
            #expect(answer.status == status || answer.status == 400 && host.isEmpty, "\(host)")
            let page = try trial.admin.get("/console/", ["host": host])
            #expect(page.status == status || page.status == 400 && host.isEmpty, "\(host)")
        }
        // A token is no browser's, so the name does not matter.
        let answer = try trial.admin.get(
            "/admin/status",
            ["authorization": "Bearer \(SandboxedGateway.token)", "host": "evil.example"]
        )
        #expect(answer.status == 200)
    }

    @Test("A session has the role of its token")
    func roles() throws {
        let trial = try trial()
        let cookie = try login(trial, Self.looker)
        let own: KeyValuePairs = ["cookie": cookie, "host": "h.localhost"]
        #expect(try trial.admin.get("/admin/audit", own).status == 200)
        #expect(try pause(trial, fields(of: cookie)) == 403)
    }

    @Test("A session ends with a logout, and with its token")
    func ends() throws {
        let trial = try trial()
        let (one, other) = (try login(trial), try login(trial, Self.looker))
        func status(_ cookie: String) throws -> Int {
            try trial.admin.get("/admin/status", ["cookie": cookie, "host": "127.0.0.1"]).status
        }
        let bye = try trial.admin.send("DELETE", "/admin/session", [], fields(of: one))
        #expect(bye.status == 204)
        #expect(bye["set-cookie"]?.contains("Max-Age=0") == true)
        #expect(try status(one) == 401)
        #expect(try status(other) == 200)
        var changed = trial.gateway.configuration.withLock { $0 }
        changed.admin.tokens = []
        trial.gateway.reload(changed)
        #expect(try status(other) == 401)
        #expect(eventually { (try? trial.admin("/admin/audit").text.contains("log out")) == true })
        #expect(
            try trial.admin("/admin/audit").text.contains(#""action":"log in","subject":"console""#)
        )
    }

    @Test("A listener takes only the cookie of its own kind")
    func cookieNames() throws {
        let trial = try trial()
        let cookie = try login(trial)
        let id = try #require(cookie.split(separator: "=").last)
        for (name, status) in [("sluice", 200), ("__Host-sluice", 401)] {
            let fields: KeyValuePairs = ["cookie": "\(name)=\(id)", "host": "127.0.0.1"]
            #expect(try trial.admin.get("/admin/status", fields).status == status, "\(name)")
        }
    }

    @Test("A tail that a session opened ends with the session")
    func tail() throws {
        let trial = try trial()
        let cookie = try login(trial)
        let tail = try trial.admin.opened(
            sending: "GET /admin/tail HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: \(cookie)\r\n\r\n"
        )
        #expect(tail.receives("as they are accepted"))
        let bye = try trial.admin.send("DELETE", "/admin/session", [], fields(of: cookie))
        #expect(bye.status == 204)
        #expect(eventually { !trial.gateway.tail.isWatched })
        _ = tail.readToEnd()
    }

    @Test("A one-time link logs in once")
    func codes() throws {
        let trial = try trial()
        let made = try trial.admin.ask("POST", "/admin/session/code")
        let code = try #require(made.text.firstMatch(of: /"code":"([0-9a-f]+)"/)?.1)
        let fields: KeyValuePairs = ["content-type": "application/json", "host": "127.0.0.1"]
        let body = #"{"code":"\#(code)"}"#.utf8
        #expect(try trial.admin.post("/admin/session", Array(body), fields).status == 200)
        #expect(try trial.admin.post("/admin/session", Array(body), fields).status == 401)
    }

    @Test("Guesses at the login are throttled, whatever they guess")
    func guesses() throws {
        let trial = try trial()
        var guesser = trial.admin
        guesser.source = "127.0.0.9"
        for number in 1...3 {
            let guess: KeyValuePairs = ["authorization": "Bearer \(number)", "host": "127.0.0.1"]
            #expect(try guesser.post("/admin/session", [], guess).status == 401)
        }
        let form: KeyValuePairs = [
            "content-type": "application/x-www-form-urlencoded", "host": "127.0.0.1",
        ]
        var last = 0
        for number in 4...8 {
            last = try guesser.post("/console/login", "token=guess%20\(number)".utf8, form).status
        }
        #expect(last == 429)
    }

    @Test("The files come from memory with a strict policy, a version, and compressed")
    func files() throws {
        let trial = try trial()
        let page = try trial.admin.get("/console/", ["host": "127.0.0.1"])
        #expect(page.status == 200)
        #expect(page["content-type"] == "text/html; charset=utf-8")
        #expect(
            page["content-security-policy"]?.hasPrefix("default-src 'none'; script-src 'self'")
                == true
        )
        #expect(page["x-frame-options"] == "DENY")
        let tag = try #require(page["etag"])
        let again = try trial.admin.get("/console/", ["host": "127.0.0.1", "if-none-match": tag])
        #expect(again.status == 304)
        let script = try trial.admin.get(
            "/console/app.js",
            ["host": "127.0.0.1", "accept-encoding": "br, gzip"]
        )
        #expect(script["content-type"] == "text/javascript; charset=utf-8")
        #expect(script["content-encoding"] == "gzip")
        #expect(script.body.starts(with: [0x1f, 0x8b]))
        #expect(try trial.admin.get("/console/nothing.js", ["host": "127.0.0.1"]).status == 404)
        #expect(try trial.admin.get("/", ["host": "127.0.0.1"])["location"] == "/console/")
    }

    @Test("All files of the folder are served, and the document")
    func embedded() throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let folder = root.appending(path: "Sources/Admin/Console")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.sorted() == ServedFile.console.map(\.name).sorted())
        for file in ServedFile.console {
            let text = try String(contentsOf: folder.appending(path: file.name), encoding: .utf8)
            #expect(file.text == text, "\(file.name)")
        }
        let document = root.appending(path: "docs/openapi.json")
        #expect(try String(contentsOf: document, encoding: .utf8) == ServedFile.openAPI.text)
    }

    @Test("The files are small, and name no other place")
    func content() {
        let files = ServedFile.console
        #expect(files.reduce(0) { $0 + $1.text.utf8.count } < 150 << 10)
        for (name, text) in files.map({ ($0.name, $0.text) }) {
            let places = text.replacing("http://www.w3.org/2000/svg", with: "")
            #expect(!places.contains("http://") && !places.contains("https://"), "\(name)")
            #expect(!text.contains("innerHTML") && !text.contains("eval("), "\(name)")
            guard name == "index.html" else { continue }
            #expect(!text.contains("<style") && !text.contains("style="))
            #expect(!text.contains(" onclick") && !text.contains("<script>"))
        }
    }

    @Test("Without scripts a form logs in, and the status is a page of text")
    func plain() throws {
        let trial = try trial()
        let asked = try trial.admin.get("/console/status", ["host": "127.0.0.1"])
        #expect(asked.text.contains(#"<form method="post" action="login">"#))
        let answer = try trial.admin.post(
            "/console/login",
            "token=\(SandboxedGateway.token)".utf8,
            ["content-type": "application/x-www-form-urlencoded", "host": "127.0.0.1"]
        )
        #expect(answer.status == 303)
        #expect(answer["location"] == "status")
        let cookie = String(try #require(answer["set-cookie"]).prefix { $0 != ";" })
        let page = try trial.admin.get("/console/status", ["cookie": cookie, "host": "127.0.0.1"])
        #expect(page.text.contains("<pre>") && page.text.contains("destination  default"))
        let foreign = try trial.admin.post(
            "/console/login",
            "token=\(SandboxedGateway.token)".utf8,
            [
                "content-type": "application/x-www-form-urlencoded", "host": "127.0.0.1",
                "origin": "https://evil.example",
            ]
        )
        #expect(foreign.status == 403)
    }

    @Test("The console can be turned off")
    func off() throws {
        let trial = try trial { $0.admin.hasConsole = false }
        for path in ["/console/", "/console/app.js", "/", "/console/status"] {
            #expect(try trial.admin.get(path, ["host": "127.0.0.1"]).status == 401, "\(path)")
        }
        #expect(try trial.admin("/admin/session").status == 404)
    }
}

@Suite struct ConsoleSessionsTests {
    private let start = Moment(nanoseconds: 1_000_000_000_000)
    private let holder: AdminHolder

    init() throws {
        let token = String(repeating: "a", count: 32)
        let keys = AdminKeys(main: Secret(token))
        holder = try #require(keys.holder(of: Array("Bearer \(token)".utf8)))
    }

    @Test("A session ends after half an hour without use, and after twelve hours")
    func time() {
        var sessions = ConsoleSessions()
        let (idle, busy) = (sessions.open(holder, start), sessions.open(holder, start))
        func isOpen(_ id: String, _ now: Moment) -> Bool {
            sessions.use(id.utf8, now) { _ in true } != nil
        }
        var now = start
        while now < start + .seconds(12 * 3600 - 1200) {
            now = now + .seconds(1200)
            #expect(isOpen(busy, now))
        }
        #expect(!isOpen(idle, now))
        #expect(!isOpen(busy, start + .seconds(12 * 3600)))
        #expect(sessions.count == 0)
    }

    @Test("The session that was not used for the longest time gives way")
    func bound() {
        var sessions = ConsoleSessions()
        var ids: [String] = []
        for number in 0..<ConsoleSessions.countMax {
            ids.append(sessions.open(holder, start + .seconds(number)))
        }
        _ = sessions.use(ids[0].utf8, start + .seconds(100)) { _ in true }
        let new = sessions.open(holder, start + .seconds(101))
        #expect(sessions.count == ConsoleSessions.countMax)
        let now = start + .seconds(102)
        func isOpen(_ id: String) -> Bool { sessions.use(id.utf8, now) { _ in true } != nil }
        #expect(isOpen(ids[0]) && isOpen(new) && !isOpen(ids[1]))
    }

    @Test("The logins of one token end no session, and no code, of another")
    func others() throws {
        let token = String(repeating: "b", count: 32)
        let named = NamedToken(name: "grafana", secret: Secret(token), role: .read)
        let keys = AdminKeys(main: Secret(String(repeating: "a", count: 32)), named: [named])
        let reader = try #require(keys.holder(of: Array("Bearer \(token)".utf8)[...]))
        var (sessions, codes) = (ConsoleSessions(), LoginCodes())
        let (session, code) = (sessions.open(holder, start), codes.make(for: holder, start))
        for number in 0..<100 {
            _ = sessions.open(reader, start + .milliseconds(number))
            _ = codes.make(for: reader, start)
        }
        #expect(sessions.use(session.utf8, start + .seconds(1)) { _ in true } != nil)
        #expect(sessions.count == ConsoleSessions.countMax + 1)
        #expect(codes.take(code, start)?.name == holder.name)
    }

    @Test("A code ends after a minute, and the oldest of many gives way")
    func codes() {
        var codes = LoginCodes()
        let late = codes.make(for: holder, start)
        #expect(codes.take(late, start + .seconds(60)) == nil)
        let first = codes.make(for: holder, start)
        for _ in 0..<LoginCodes.countMax { _ = codes.make(for: holder, start) }
        #expect(codes.take(first, start) == nil)
    }
}
