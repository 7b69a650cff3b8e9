import Configuration
import HTTPClient
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

@Suite struct ServerClockTests {
    static let host = WallTime(seconds: 1_736_843_400)

    func clock(_ endpoint: String = "https://cn-hangzhou.log.aliyuncs.com") throws -> ServerClock {
        ServerClock(EndpointKey.server(try Endpoint(parsing: endpoint), proxy: nil))
    }

    /// An answer of a server whose clock is off by so many seconds.
    func answer(
        _ offset: Int64,
        status: Int = 503,
        code: String? = nil,
        requestID: String? = "5642FC2399248C8F7B0145FD"
    ) -> SLSAnswer {
        SLSAnswer(
            status: status,
            headers: [("x-log-time", "\(Self.host.seconds + offset)")]
                + (requestID.map { [("x-log-requestid", $0)] } ?? []),
            body: Array((code.map { #"{"errorCode":"\#($0)"}"# } ?? "").utf8)
        )
    }

    /// The offset after such an answer, which came at once.
    func offset(_ clock: inout ServerClock, _ answer: SLSAnswer) -> Duration? {
        _ = clock.learn(from: answer.time, sent: Self.host, received: Self.host)
        return clock.offset
    }

    @Test("Before anything is learned it is the configured offset, else the host's time")
    func start() throws {
        let clock = try clock()
        #expect(clock.offset == nil)
        #expect(clock.time(at: Self.host) == Self.host)
        #expect(clock.time(at: Self.host, assuming: .seconds(90)) - Self.host == .seconds(90))
    }

    @Test("A host that is right is told so exactly", arguments: [-2, -1, 0, 1, 2])
    func right(seconds: Int64) throws {
        var clock = try clock()
        let change = clock.learn(from: answer(seconds).time, sent: Self.host, received: Self.host)
        #expect(change == nil)
        #expect(clock.offset == .zero)
    }

    @Test("A clock that is off is learned within a second", arguments: [-600, -30, 30, 600, 86400])
    func off(seconds: Int64) throws {
        var clock = try clock()
        let sent = Self.host + .milliseconds(200)
        let change = clock.learn(
            from: answer(seconds).time,
            sent: sent,
            received: sent + .milliseconds(400)
        )
        let offset = try #require(clock.offset)
        #expect(offset > .seconds(seconds - 1) && offset < .seconds(seconds + 1))
        #expect(change?.to == offset)
        #expect(change?.from == .zero)
        #expect(clock.time(at: Self.host, assuming: .seconds(5)) == Self.host + offset)
    }

    @Test("The configured offset stands until SLS tells another one")
    func assumed() throws {
        var clock = try clock()
        let same = clock.learn(
            from: answer(20).time,
            sent: Self.host,
            received: Self.host,
            assuming: .seconds(19)
        )
        #expect(same == nil)
        #expect(clock.offset == .seconds(19))
        #expect(offset(&clock, answer(0)) == .zero)
    }

    @Test("An answer that took long says little, and changes nothing that it does not contradict")
    func slow() throws {
        var clock = try clock()
        let change = clock.learn(
            from: answer(30).time,
            sent: Self.host,
            received: Self.host + .seconds(60)
        )
        #expect(change == nil)
        #expect(clock.offset == .zero)
        _ = clock.learn(from: answer(300).time, sent: Self.host, received: Self.host + .seconds(60))
        #expect(clock.offset == .milliseconds(270_500))
    }

    @Test("A host's clock that was set back meanwhile teaches nothing")
    func setBack() throws {
        var clock = try clock()
        let change = clock.learn(
            from: answer(300).time,
            sent: Self.host,
            received: Self.host + .seconds(-1)
        )
        #expect(change == nil)
        #expect(clock.offset == nil)
    }

    @Test("Noise of rounding and of the network moves nothing")
    func noise() throws {
        var clock = try clock()
        var generator = SystemRandomNumberGenerator()
        let trueOffset: Duration = .milliseconds(734_567)
        _ = clock.learn(from: answer(734).time, sent: Self.host, received: Self.host)
        var moves = 0
        for step in 0..<10_000 {
            let sent = Self.host + .milliseconds(step * 137)
            let answered = sent + .milliseconds(Int.random(in: 0...3000, using: &generator))
            let received = answered + .milliseconds(Int.random(in: 0...3000, using: &generator))
            let told = SLSAnswer(
                status: 200,
                headers: [
                    ("x-log-requestid", "A"), ("x-log-time", "\((answered + trueOffset).seconds)"),
                ],
                body: []
            )
            if clock.learn(from: told.time, sent: sent, received: received) != nil { moves += 1 }
            let error = try #require(clock.offset) - trueOffset
            #expect(error > .seconds(-3) && error < .seconds(3))
        }
        #expect(moves == 0)
    }

    @Test("Only SLS tells the time, and no time beyond ten years is believed")
    func bounds() throws {
        var clock = try clock()
        #expect(offset(&clock, answer(300, requestID: nil)) == nil)
        #expect(offset(&clock, answer(11 * 365 * 86400)) == nil)
        #expect(offset(&clock, answer(9 * 365 * 86400)) != nil)
    }

    @Test("An answer that says stored cannot show a time at which it would have been refused")
    func contradiction() throws {
        var clock = try clock()
        #expect(offset(&clock, answer(1000, status: 200)) == nil)
        #expect(offset(&clock, answer(800, status: 200)) == .milliseconds(800_500))
        // With the offset that is known by now it is a time that SLS takes.
        #expect(offset(&clock, answer(1600, status: 200)) == .milliseconds(1_600_500))
    }

    @Test(
        "Over plain http only a refusal for the time counts, and a day at most; not so on this machine",
        arguments: [
            ("http://logs.example.com", false), ("http://127.0.0.1:1", true),
            ("http://localhost:1", true), ("https://logs.example.com", true),
        ]
    )
    func unverified(endpoint: String, believesAll: Bool) throws {
        var clock = try clock(endpoint)
        #expect((offset(&clock, answer(600)) != nil) == believesAll)
        for code in ["RequestTimeExpired", "RequestTimeTooSkewed"] {
            clock = try self.clock(endpoint)
            let refusal = answer(80_000, status: 400, code: code)
            #expect(offset(&clock, refusal) == .milliseconds(80_000_500))
            let farther = answer(100_000, status: 400, code: code)
            #expect((offset(&clock, farther) == .milliseconds(100_000_500)) == believesAll)
        }
    }

    @Test("Loopback behind a proxy is another machine")
    func proxied() throws {
        let proxy = try Proxy(parsing: "http://proxy:3128")
        for (endpoint, isBelieved) in [
            ("http://localhost:1", false), ("https://localhost:1", true),
        ] {
            var clock = ServerClock(
                EndpointKey.server(try Endpoint(parsing: endpoint), proxy: proxy)
            )
            #expect((offset(&clock, answer(600)) != nil) == isBelieved)
        }
    }

    @Test("The operator hears once of a host that is far off, and once that it is right again")
    func notices() throws {
        var clock = try clock()
        var notices: [ServerClock.Notice] = []
        for seconds in [0, 50, 70, 90, 55, 61, 40, 20, 50, -61, -100, 0] as [Int64] {
            let change = clock.learn(
                from: answer(seconds).time,
                sent: Self.host,
                received: Self.host
            )
            if let notice = change?.notice { notices.append(notice) }
        }
        #expect(
            notices == [.hostIsFarOff, .hostIsRightAgain, .hostIsFarOff, .hostIsRightAgain]
        )
    }

    @Test("The operator hears of a host that is as far off as he said")
    func noticeOfAssumed() throws {
        var clock = try clock()
        let change = clock.learn(
            from: answer(3600).time,
            sent: Self.host,
            received: Self.host,
            assuming: .seconds(3600)
        )
        #expect(change?.notice == .hostIsFarOff)
        #expect(change?.from == change?.to)
    }

    @Test("A refused request is signed again when that gives it another time")
    func signAgain() throws {
        var clock = try clock()
        func mayHelp(_ refused: WallTime, _ host: WallTime) -> Bool {
            ServerClock.mayAccept(clock.time(at: host), not: refused)
        }
        #expect(!mayHelp(Self.host, Self.host))
        #expect(!mayHelp(Self.host, Self.host + .seconds(59)))
        // The upload took so long that its date went stale.
        #expect(mayHelp(Self.host, Self.host + .seconds(1000)))
        _ = offset(&clock, answer(-3600))
        #expect(mayHelp(Self.host, Self.host))
        #expect(!mayHelp(clock.time(at: Self.host), Self.host))
    }
}

@Suite struct ClockOffsetsTests {
    private let lead = Locked<Duration>(.zero)
    private let offsets: ClockOffsets

    init() {
        let lead = lead
        offsets = ClockOffsets(lead: {
            let (seconds, attoseconds) = lead.withLock { $0 }.components
            return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        })
    }

    /// Somebody sets the host's clock forward by that much.
    private func setHost(by step: Duration) { lead.withLock { $0 += step } }

    @Test("An offset belongs to one destination, and can be removed")
    func own() {
        #expect(offsets.offset(for: "app") == .zero)
        offsets.set(.seconds(3600), for: "app")
        #expect(offsets.offset(for: "app") == .seconds(3600))
        #expect(offsets.offset(for: "web") == .zero)
        offsets.set(nil, for: "app")
        #expect(offsets.offset(for: "app") == .zero)
    }

    @Test(
        "A host whose clock was set right is right at once, before SLS has said so",
        arguments: [1, -1]
    )
    func setRight(sign: Int) {
        offsets.set(.seconds(sign * 18_000), for: "app")
        setHost(by: .seconds(sign * 18_000))
        #expect(offsets.offset(for: "app") == .zero)
        // Nearly right is right: what is left is not noticed.
        setHost(by: .seconds(59))
        #expect(offsets.offset(for: "app") == .zero)
    }

    @Test("Set by half of it, the other half is left; set the wrong way, it is more")
    func setInPart() {
        offsets.set(.seconds(7200), for: "app")
        setHost(by: .seconds(3600))
        #expect(offsets.offset(for: "app") == .seconds(3600))
        setHost(by: .seconds(-7200))
        #expect(offsets.offset(for: "app") == .seconds(10_800))
    }

    @Test("A clock that only drifts keeps its learned offset")
    func drift() {
        offsets.set(.seconds(300), for: "app")
        setHost(by: .seconds(60))
        #expect(offsets.offset(for: "app") == .seconds(300))
    }

    @Test("An offset that is learned after the clock was set counts from there")
    func learnedAgain() {
        offsets.set(.seconds(7200), for: "app")
        setHost(by: .seconds(3600))
        offsets.set(.seconds(3600), for: "app")
        #expect(offsets.offset(for: "app") == .seconds(3600))
        setHost(by: .seconds(3600))
        #expect(offsets.offset(for: "app") == .zero)
    }
}
