import Crypto
import Glibc
import HTTP
import HTTPClient
import Net
import System
import TestHTTP
import TestSupport
import Testing

@testable import Resolvers

/// Hosts are asked for again when the machine's network changes, and by the rules for hosts.
@Suite(.timeLimit(.minutes(10))) struct NetworkChangeTests {
    private let now = Moment.now

    @Test("Changes that come together are one, and a flapping interface asks once a minute")
    func coalesced() {
        var changes = NetworkChanges()
        #expect(changes.due == nil)
        for milliseconds in stride(from: 0, to: 900, by: 10) {
            changes.changed(at: now + .milliseconds(milliseconds))
        }
        #expect(changes.due == now + .seconds(1))
        let isEarly = changes.takeDue(now + .milliseconds(999))
        #expect(!isEarly)
        let isDue = changes.takeDue(now + .seconds(1))
        #expect(isDue && changes.due == nil)
        var taken = 0
        for second in 2..<602 {
            changes.changed(at: now + .seconds(second))
            if changes.takeDue(now + .seconds(second)) { taken += 1 }
        }
        #expect(taken == 10)
        // After a quiet time the next one counts at once.
        _ = changes.takeDue(now + .seconds(1000))
        changes.changed(at: now + .seconds(2000))
        #expect(changes.due == now + .seconds(2001))
        let isOther = changes.takeDue(now + .seconds(2001), differs: { false })
        #expect(!isOther && changes.due == nil)
        // It delays nothing.
        changes.changed(at: now + .seconds(2002))
        #expect(changes.due == now + .seconds(2003))
    }

    @Test("A change of the network asks again for the hosts in use")
    func asksAgain() throws {
        var ends: [CInt] = [0, 0]
        let kind = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        defer { close(ends[1]) }
        let server = try RecordingServer { _, _ in
            Response(status: 200, body: Array("192.0.2.7,600".utf8))
        }
        var settings = NameSettings()
        var account = TencentAccount(.token(Secret("t")))
        account.servers = [ResolverServer(server.url)].compactMap(\.self)
        settings.resolvers["qq"] = ResolverSettings(.tencent(account))
        let service = try NameService(
            settings,
            directory: nil,
            journal: .silent,
            network: NetworkWatch(taking: OwnedDescriptor(taking: ends[0]))
        )
        try service.start()
        defer { service.stop() }
        func queries() -> Int { server.requests.count { $0.path == "/d" } }
        let use = service.addresses(of: "demo.example", port: 443, by: ["qq"])
        _ = use.addresses.view(atMost: .seconds(20))
        #expect(queries() == 1)
        for _ in 0..<5 { #expect(send(ends[1], [UInt8(1)], 1, 0) == 1) }
        #expect(eventually { queries() == 2 })
        withExtendedLifetime(use) {}
    }

    @Test("A host's own rule beats a wildcard, and the longest wildcard wins")
    func rules() {
        var rules: ResolverRules = ["usual"]
        #expect(rules.resolvers(of: "a.b.c") == ["usual"])
        rules.byHost = ["*.c": ["short"], "*.b.c": ["long"], "a.b.c": ["own"], "c": ["top"]]
        let wanted = [
            "a.b.c": "own", "x.b.c": "long", "x.y.b.c": "long", "b.c": "short", "x.c": "short",
            "c": "top", "xc": "usual", "a.b.c.d": "usual", "": "usual",
        ]
        for (host, name) in wanted { #expect(rules.resolvers(of: host) == [name], "\(host)") }
        #expect(!rules.isEmpty && ResolverRules([]).isEmpty)
    }

    @Test("A resolver without a cache gives addresses for their own TTL, and for no longer")
    func uncached() throws {
        var settings = NameSettings()
        settings.resolvers["cached"] = ResolverSettings(
            .tencent(TencentAccount(.token(Secret("t"))))
        )
        settings.resolvers["uncached"] = settings.resolvers["cached"]
        settings.resolvers["uncached"]?.isCached = false
        let address = try #require(IPAddress("203.107.1.1"))
        for (seconds, lifetime) in [(0, 1), (3, 3), (100, 100)] {
            let found = HostAnswer(v4: FamilyAnswer([address], seconds: seconds))
            let answer = HostEntry.Answer(found, from: "uncached", settings, now)
            #expect(answer.expires == now + .seconds(lifetime) && answer.ends == answer.expires)
            let entry = HostEntry(HostEntry.Key(host: "a.b", resolvers: ["uncached"]))
            entry.answered(answer, now)
            #expect(entry.kept(now, .now) == nil)
            let usual = HostEntry.Answer(found, from: "cached", settings, now)
            #expect(usual.expires == now + .seconds(max(10, seconds)))
            #expect(usual.ends == usual.expires + settings.maxStale)
            entry.answered(usual, now)
            #expect(entry.kept(now, .now) != nil)
        }
    }
}
