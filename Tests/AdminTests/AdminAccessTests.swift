import Crypto
import Glibc
import Net
import SLS
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct AdminAccessTests {
    private static let looker = String(repeating: "l", count: 32)

    private func trial() throws -> SandboxedGateway {
        try SandboxedGateway {
            $0.admin.tokens = [
                NamedToken(name: "grafana", secret: Secret(Self.looker), role: .read),
                NamedToken(
                    name: "cron",
                    secret: Secret(String(repeating: "c", count: 32)),
                    role: .full
                ),
            ]
        }
    }

    @Test("A token with role read may read everything and change nothing")
    func looking() throws {
        let trial = try trial()
        for path in ["/metrics", "/admin/status", "/admin/dead-letters", "/admin/audit"] {
            #expect(try trial.admin.ask("GET", path, token: Self.looker).status == 200)
        }
        let purge = "/admin/dead-letters/purge?all=true"
        let refused = try trial.admin.ask("POST", purge, token: Self.looker)
        #expect(refused.status == 403)
        #expect(refused.text.contains("may only read"))
    }

    @Test(
        "One token takes half of the places, readers three quarters; a place comes back by itself"
    )
    func places() throws {
        let readers = ["a", "b"].map { String(repeating: $0, count: 32) }
        let keys = AdminKeys(
            main: Secret(SandboxedGateway.token),
            named: readers.map {
                NamedToken(name: String($0.prefix(1)), secret: Secret($0), role: .read)
            }
        )
        func holder(_ token: String) throws -> AdminHolder {
            try #require(keys.holder(of: "Bearer \(token)".utf8))
        }
        let places = AdminPlaces(8)
        func taken(_ token: String) throws -> [AdminPlaces.Place] {
            let holder = try holder(token)
            return (0..<8).compactMap { _ in places.take(for: holder) }
        }
        var ofFirst = try taken(readers[0])
        let ofSecond = try taken(readers[1])
        let ofMain = try taken(SandboxedGateway.token)
        #expect((ofFirst.count, ofSecond.count, ofMain.count) == (4, 2, 2))
        ofFirst.removeLast()
        #expect(try taken(SandboxedGateway.token).count == 1)
        withExtendedLifetime((ofFirst, ofSecond, ofMain)) {}
    }

    @Test("The audit log has each change with the name of its token")
    func audited() throws {
        let trial = try trial()
        try trial.bury(3)
        let token = String(repeating: "c", count: 32)
        let purge = "/admin/dead-letters/purge?all=true"
        let purged = try trial.admin.ask("POST", purge, token: token)
        #expect(purged.text.contains(#""purged":3"#), "\(purged.text)")
        #expect(eventually { (try? trial.admin("/admin/audit").text.contains("purge")) == true })
        let page = try trial.admin("/admin/audit").text
        for part in [
            #""actor":"cron""#, #""address":"127.0.0.1""#, #""action":"purge""#,
            #""subject":"dead letters all""#, #""after":"3 letters""#,
        ] {
            #expect(page.contains(part), "\(part) in \(page)")
        }
        #expect(!page.contains(token))
        let audit = try trial.admin("/admin/audit").text
        #expect(audit.contains(#""subject":"dead letters all","before":"","after":"3 letters""#))
    }

    @Test("An address that guesses tokens is throttled, also with the right one; others are not")
    func guessing() throws {
        let trial = try trial()
        var guesser = trial.admin
        guesser.source = "127.0.0.9"
        for number in 1...5 {
            #expect(try guesser.ask("GET", "/metrics", token: "wrong \(number)").status == 401)
        }
        let waiting = try guesser.ask("GET", "/metrics", token: "wrong 6")
        #expect(waiting.status == 429)
        #expect(waiting["retry-after"] != nil)
        #expect(try guesser.ask("GET", "/metrics").status == 429)
        #expect(try trial.admin("/metrics").status == 200)
        #expect(try guesser.get("/healthz").status == 200)
    }

    @Test("A body without Content-Type: application/json is refused")
    func contentType() throws {
        let trial = try trial()
        try trial.bury(1)
        let answer = try trial.admin.send(
            "PUT",
            "/admin/dead-letters/1",
            Array(#"{"a":1}"#.utf8),
            ["authorization": "Bearer \(SandboxedGateway.token)", "content-type": "text/plain"]
        )
        #expect(answer.status == 415)
    }

    @Test("A reload adds and removes named tokens")
    func reload() throws {
        let trial = try trial()
        var changed = trial.gateway.configuration.withLock { $0 }
        changed.admin.tokens = []
        trial.gateway.reload(changed)
        #expect(try trial.admin.ask("GET", "/metrics", token: Self.looker).status == 401)
        #expect(try trial.admin("/metrics").status == 200)
    }
}

@Suite struct AdminTokenTests {
    private let token = AdminToken(Secret("0123456789abcdef0123456789abcdef"))

    @Test(
        "Only the whole token is admitted",
        arguments: [
            ("Bearer 0123456789abcdef0123456789abcdef", true),
            ("bearer 0123456789abcdef0123456789abcdef", true),
            ("Bearer 0123456789abcdef0123456789abcdeg", false),
            ("Bearer 0123456789abcdef0123456789abcde", false),
            ("Bearer 0123456789abcdef0123456789abcdef0", false),
            ("Bearer 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", false),
            ("Bearer ", false), ("Bearer", false), ("", false),
            ("Basic 0123456789abcdef0123456789abcdef", false),
        ]
    )
    func admits(header: String, isAdmitted: Bool) {
        #expect(token.admits(Array(header.utf8)) == isAdmitted)
    }

    @Test("A generated token survives restarts and is readable only by its owner")
    func file() throws {
        let directory = TemporaryDirectory()
        let file = TokenFile(dataDirectory: directory.path, journal: .silent)
        let first = try file.token()
        #expect(first.revealed.utf8.count == 64)
        #expect(try file.token() == first)
        var status = stat()
        #expect(stat(file.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test("A token file that others can read is refused with the remedy")
    func readableByOthers() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("admin-token", String(repeating: "a", count: 64))
        chmod(path, 0o644)
        let error = #expect(throws: StartProblem.self) {
            try TokenFile(dataDirectory: directory.path, journal: .silent).token()
        }
        #expect(error?.description.contains("chmod 600") == true)
    }

    @Test(
        "A partly written token file is replaced at the start",
        arguments: ["", "\n", "0123"]
    )
    func unfinished(content: String) throws {
        let directory = TemporaryDirectory()
        let path = directory.file("admin-token", content)
        chmod(path, 0o600)
        let lines = Locked<[String]>([])
        let journal = Journal(level: .info, format: .json) { line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let file = TokenFile(dataDirectory: directory.path, journal: journal)
        let token = try file.token()
        #expect(lines.withLock { $0.count } == 1)
        #expect(token.revealed.utf8.count == 64)
        #expect(try file.token() == token)
    }

    @Test("A token path that is no regular file is refused")
    func directoryInPlace() throws {
        let directory = TemporaryDirectory()
        mkdir(directory.path + "/admin-token", 0o700)
        let error = #expect(throws: StartProblem.self) {
            try TokenFile(dataDirectory: directory.path, journal: .silent).token()
        }
        #expect(error?.description.contains("is not a regular file") == true)
        #expect(error?.description.contains("chmod") == false)
    }

    @Test("The error for an unwritable directory names it")
    func unwritable() {
        let error = #expect(throws: StartProblem.self) {
            try TokenFile(dataDirectory: "/none/such", journal: .silent).token()
        }
        #expect(error?.description.contains("/none/such/admin-token") == true)
    }
}

@Suite struct DoorkeeperTests {
    private let start = Moment(nanoseconds: 1_000_000_000_000)

    private func address(_ host: String) throws -> Neighbourhood {
        try #require(SocketAddress(host: host, port: 0)).neighbourhood
    }

    private func guess(_ number: Int) -> [UInt8] { Array("Bearer wrong \(number)".utf8) }

    @Test("Several different wrong tokens throttle an address, longer each time, up to a minute")
    func guessing() throws {
        var door = Doorkeeper()
        let guesser = try address("192.0.2.7")
        var now = start
        for number in 1...Doorkeeper.freeGuesses {
            let isClosed = door.refused(guess(number), from: guesser, now)
            #expect(!isClosed)
            #expect(door.wait(of: guesser, now) == nil)
        }
        var waits: [Duration] = []
        for number in 100..<110 {
            let isClosed = door.refused(guess(number), from: guesser, now)
            #expect(isClosed)
            let wait = try #require(door.wait(of: guesser, now))
            waits.append(wait)
            now = now + wait
            #expect(door.wait(of: guesser, now) == nil)
        }
        #expect(waits.prefix(3) == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(waits.last == Doorkeeper.longestWait)
    }

    @Test("A script that repeats one old token is not throttled")
    func oldToken() throws {
        var door = Doorkeeper()
        let script = try address("127.0.0.1")
        for _ in 0..<1000 {
            let isClosed = door.refused(guess(1), from: script, start)
            #expect(!isClosed)
        }
        #expect(door.wait(of: script, start) == nil)
    }

    @Test("Scripts that alternate old tokens are not throttled, also after another's guesses")
    func oldTokens() throws {
        var door = Doorkeeper()
        let machine = try address("127.0.0.1")
        for round in 0..<1000 {
            let isClosed = door.refused(guess(round % 4), from: machine, start)
            #expect(!isClosed)
        }
        for number in 10..<13 { _ = door.refused(guess(number), from: machine, start) }
        let later = start + .seconds(10)
        #expect(door.wait(of: machine, later) == nil)
        let isClosed = door.refused(guess(1), from: machine, later)
        #expect(!isClosed && door.wait(of: machine, later) == nil)
    }

    @Test("A correct token or ten quiet minutes reset the throttle")
    func forgiven() throws {
        var door = Doorkeeper()
        let operatorsAddress = try address("192.0.2.7")
        for number in 1...5 { _ = door.refused(guess(number), from: operatorsAddress, start) }
        door.admitted(guess(0), from: operatorsAddress, forgiving: true)
        let isClosed = door.refused(guess(6), from: operatorsAddress, start)
        #expect(!isClosed)
        for number in 7...10 { _ = door.refused(guess(number), from: operatorsAddress, start) }
        let later = start + Doorkeeper.memory + .seconds(1)
        let isStillClosed = door.refused(guess(11), from: operatorsAddress, later)
        #expect(!isStillClosed)
    }

    @Test("A known token is not throttled when a neighbour guesses")
    func neighbour() throws {
        var door = Doorkeeper()
        let machine = try address("127.0.0.1")
        door.admitted(guess(0), from: machine, forgiving: false)
        for number in 1...20 { _ = door.refused(guess(number), from: machine, start) }
        #expect(door.wait(of: machine, start) != nil)
        #expect(door.hasAdmitted(guess(0), from: machine))
        #expect(!door.hasAdmitted(guess(1), from: machine))
        let elsewhere = try address("192.0.2.7")
        #expect(!door.hasAdmitted(guess(0), from: elsewhere))
        for number in 0..<1000 {
            door.admitted(guess(number), from: elsewhere, forgiving: false)
        }
        #expect(!door.hasAdmitted(guess(0), from: machine))
    }

    @Test("Addresses of one v6 network share their throttle")
    func network() throws {
        var door = Doorkeeper()
        for number in 1...6 {
            _ = door.refused(guess(number), from: try address("2001:db8::\(number)"), start)
        }
        #expect(door.wait(of: try address("2001:db8::ffff"), start) != nil)
        #expect(door.wait(of: try address("2001:db8:0:1::1"), start) == nil)
    }

    @Test("A flood of addresses is bounded and does not lift an existing throttle")
    func flood() throws {
        var door = Doorkeeper()
        let guesser = try address("192.0.2.7")
        for number in 1...12 { _ = door.refused(guess(number), from: guesser, start) }
        for number in 0..<5000 {
            let other = try address("10.0.\(number / 250).\(number % 250 + 1)")
            _ = door.refused(guess(number), from: other, start + .milliseconds(number))
        }
        #expect(door.wait(of: guesser, start + .seconds(5)) != nil)
        #expect(door.visitorCount <= Doorkeeper.addressesMax)
    }
}
