import Crypto
import HTTP
import HTTPClient
import Net
import System
import TestHTTP
import TestSupport
import Testing

@testable import Resolvers

/// Hosts become addresses: through real servers on loopback, and with their faults.
@Suite(.timeLimit(.minutes(10))) struct NameServiceTests {
    private let directory = TemporaryDirectory()
    private let journal = JournalRecorder()

    /// The first version's answer to a query, with these addresses for each host.
    private static func reply(
        _ request: RecordingServer.Request,
        _ addresses: [String],
        ttl: Int = 60
    ) -> Response {
        let hosts =
            request.query.split(separator: "&").first { $0.hasPrefix("host=") }
            .map { $0.dropFirst(5).replacing("%2C", with: ",").split(separator: ",") } ?? []
        let list = addresses.map { "\"\($0)\"" }.joined(separator: ",")
        let answers = hosts.map { "{\"host\":\"\($0)\",\"ips\":[\(list)],\"ttl\":\(ttl)}" }
        let text = answers.count == 1 ? answers[0] : "{\"dns\":[\(answers.joined(separator: ","))]}"
        return Response(status: 200, body: Array(text.utf8))
    }

    private static func isList(_ request: RecordingServer.Request) -> Bool {
        request.path.hasSuffix("/ss")
    }

    private func queries(_ server: RecordingServer) -> [RecordingServer.Request] {
        server.requests.filter { !Self.isList($0) }
    }

    private func alibaba(_ urls: [String]) -> ResolverSettings {
        var account = AlibabaAccount(id: "100000")
        account.version = .v1
        account.servers = urls.compactMap { ResolverServer($0) }
        return ResolverSettings(.alibaba(account))
    }

    private func service(
        _ resolvers: [String: ResolverSettings],
        keeping: Bool = false,
        _ change: (inout NameSettings) -> Void = { _ in }
    ) throws -> NameService {
        var settings = NameSettings()
        settings.resolvers = resolvers
        change(&settings)
        let service = try NameService(
            settings,
            directory: keeping ? directory.path : nil,
            journal: journal.journal
        )
        try service.start()
        return service
    }

    private func known(_ use: HostUse) -> (addresses: [String], resolver: String, isStale: Bool)? {
        guard case .known(let known) = use.addresses.view else { return nil }
        return (known.targets.map { "\($0.address)" }, known.resolver, known.isStale)
    }

    private func isByName(_ use: HostUse) -> Bool {
        if case .byName = use.addresses.view { true } else { false }
    }

    private func isUnknown(_ use: HostUse) -> Bool {
        if case .unknown = use.addresses.view { true } else { false }
    }

    /// Nobody knows it, the system included.
    private let host = "app.sluice-test.invalid"

    @Test("One query serves all who ask, and its answer is read without another")
    func oneQuery() throws {
        let server = try RecordingServer { request, _ in Self.reply(request, ["192.0.2.7"]) }
        let service = try service(["ali": alibaba([server.url])])
        defer { service.stop() }
        let uses = (0..<8).map { _ in service.addresses(of: host, port: 443, by: ["ali"]) }
        let other = service.addresses(of: host.uppercased() + ".", port: 80, by: ["ali"])
        for use in uses + [other] {
            guard case .known = use.addresses.view(atMost: .seconds(20)) else {
                Issue.record("no address")
                return
            }
            for _ in 0..<1000 { _ = use.addresses.view }
        }
        #expect(known(other)?.addresses == ["192.0.2.7"] && known(other)?.resolver == "ali")
        #expect(queries(server).count == 1)
        #expect(service.status.hosts.count == 2)
    }

    @Test("Hosts that are wanted together share queries of five")
    func batches() throws {
        let server = try RecordingServer { request, _ in Self.reply(request, ["192.0.2.7"]) }
        var settings = NameSettings()
        settings.resolvers = ["ali": alibaba([server.url])]
        let service = try NameService(settings, directory: nil, journal: .silent)
        let uses = (0..<7).map {
            service.addresses(of: "h\($0).sluice-test.invalid", port: 443, by: ["ali"])
        }
        // All of them are in the mailbox of the first turn.
        try service.start()
        defer { service.stop() }
        for use in uses { _ = use.addresses.view(atMost: .seconds(20)) }
        #expect(uses.allSatisfy { known($0) != nil })
        #expect(queries(server).count == 2)
    }

    @Test("A host that found no place takes nothing from the one that finds it later")
    func placeOfAnother() throws {
        let server = try RecordingServer { request, _ in Self.reply(request, ["192.0.2.7"]) }
        let service = try service(["ali": alibaba([server.url])]) { $0.maxHosts = 1 }
        defer { service.stop() }
        func hold(_ host: String) -> HostUse { service.addresses(of: host, port: 443, by: ["ali"]) }
        var first: HostUse? = hold("a.sluice-test.invalid")
        var refused: HostUse? = hold(host)
        #expect(refused.map(isByName) == true && first != nil)
        first = nil
        let placed = hold(host)
        refused = nil
        #expect(refused == nil && hold(host).addresses === placed.addresses)
        _ = placed.addresses.view(atMost: .seconds(20))
        #expect(known(placed)?.addresses == ["192.0.2.7"])
    }

    @Test("A request of the web leaves an address that failed")
    func webLeavesAddress() throws {
        let servers = [try RecordingServer { _, _ in Response(status: 200) }]
        let port = try #require(UInt16(servers[0].url.split(separator: ":").last ?? ""))
        let place = ListenAddress(host: "127.0.0.2", port: port)
        let both = servers + [try RecordingServer(on: place) { _, _ in Response(status: 200) }]
        let hosts = [host: ["127.0.0.1", "127.0.0.2"].compactMap { IPAddress($0) }]
        let service = try service(["fixed": ResolverSettings(.fixed(hosts))])
        defer { service.stop() }
        let client = WebClient(interruption: try Interruption(), addresses: service.lookup)
        func ask() throws {
            let limits = WebLimits(connect: .seconds(5), total: .seconds(5))
            var request = WebRequest(url: "http://\(host):\(port)/", limits: limits)
            request.resolvers = ["fixed"]
            #expect(try client.ask(request).status == 200)
        }
        try ask()
        let used = both[0].requests.isEmpty ? 1 : 0
        both[used].stop()
        // This one may find out that the address is dead, the next goes to the other.
        try? ask()
        try ask()
        #expect(!both[1 - used].requests.isEmpty)
    }

    @Test("A host of the web stays in the cache until the configuration changes")
    func webHosts() throws {
        let hosts = [host: ["192.0.2.7"].compactMap { IPAddress($0) }]
        let service = try service(["fixed": ResolverSettings(.fixed(hosts))])
        defer { service.stop() }
        // The answer holds the host while it is held itself.
        let address = service.lookup.address(for: "http://\(host)/", ["fixed"])?.target.address
        #expect(address == "192.0.2.7")
        #expect(eventually { service.status.hosts.map(\.host) == [host] })
        service.use(NameSettings())
        #expect(eventually { service.status.hosts.isEmpty })
    }

    @Test("A silent resolver gets company from the next, and wins when it answers after all")
    func company() throws {
        let slow = try RecordingServer { request, _ in
            Self.isList(request) ? Response(status: 500) : nil
        }
        let fast = try RecordingServer { request, _ in Self.reply(request, ["192.0.2.8"]) }
        let service = try service(["slow": alibaba([slow.url]), "fast": alibaba([fast.url])]) {
            $0.patience = .milliseconds(100)
        }
        defer { service.stop() }
        let use = service.addresses(of: host, port: 443, by: ["slow", "fast"])
        _ = use.addresses.view(atMost: .seconds(20))
        #expect(known(use)?.resolver == "fast")
        slow.release(
            Response(
                status: 200,
                body: Array("{\"host\":\"\(host)\",\"ips\":[\"192.0.2.9\"],\"ttl\":60}".utf8)
            )
        )
        #expect(eventually { known(use)?.addresses == ["192.0.2.9"] })
        #expect(known(use)?.resolver == "slow")
    }

    @Test("An answer in use is asked for again ahead of its end, an unused one is not")
    func refreshAhead() throws {
        let server = try RecordingServer { request, number in
            Self.reply(request, ["192.0.2.\(number % 200 + 1)"], ttl: 0)
        }
        let service = try service(["ali": alibaba([server.url])]) {
            $0.ttlMin = .milliseconds(400)
        }
        defer { service.stop() }
        let use = service.addresses(of: host, port: 443, by: ["ali"])
        _ = use.addresses.view(atMost: .seconds(20))
        var wasStale = false
        #expect(
            eventually {
                wasStale = wasStale || known(use)?.isStale ?? false
                return queries(server).count >= 4
            }
        )
        #expect(!wasStale)
        // Nobody looks any more: at most one more query, and then the answer becomes stale.
        let before = queries(server).count
        #expect(eventually { service.status.hosts.first?.isStale ?? false })
        #expect(queries(server).count <= before + 1)
        // The next look is served at once, and wakes the resolver.
        #expect(known(use)?.isStale == true)
        #expect(eventually { known(use)?.isStale == false })
    }

    @Test("Old addresses are used while no server answers, and are counted")
    func stale() throws {
        let works = SharedValue(true)
        let server = try RecordingServer { request, _ in
            works.now ? Self.reply(request, ["192.0.2.7"], ttl: 0) : Response(status: 500)
        }
        let service = try service(["ali": alibaba([server.url])]) { $0.ttlMin = .milliseconds(200) }
        defer { service.stop() }
        let use = service.addresses(of: host, port: 443, by: ["ali"])
        _ = use.addresses.view(atMost: .seconds(20))
        works.change { $0 = false }
        #expect(eventually { known(use)?.isStale ?? false })
        #expect(known(use)?.addresses == ["192.0.2.7"])
        #expect(eventually { service.status.hosts.first.map { $0.uses[.stale] > 0 } ?? false })
        #expect(eventually { journal.count(of: "resolver does not answer") == 1 })
        works.change { $0 = true }
        service.refresh()
        #expect(eventually { known(use)?.isStale == false })
        #expect(eventually { journal.count(of: "resolver answers again") == 1 })
    }

    @Test("Stale addresses end")
    func staleEnds() throws {
        let works = SharedValue(true)
        let server = try RecordingServer { request, _ in
            works.now ? Self.reply(request, ["192.0.2.7"], ttl: 0) : Response(status: 500)
        }
        let service = try service(["ali": alibaba([server.url])]) {
            $0.ttlMin = .milliseconds(100)
            $0.maxStale = .milliseconds(300)
        }
        defer { service.stop() }
        let use = service.addresses(of: host, port: 443, by: ["ali"])
        _ = use.addresses.view(atMost: .seconds(20))
        works.change { $0 = false }
        #expect(eventually { isUnknown(use) })
    }

    @Test(
        "With no resolver and no system nobody knows an address, until one returns"
    )
    func returns() throws {
        let works = SharedValue(false)
        let server = try RecordingServer { request, _ in
            works.now ? Self.reply(request, ["192.0.2.7"]) : Response(status: 500)
        }
        let service = try service(["ali": alibaba([server.url])])
        defer { service.stop() }
        let changed = SharedValue(0)
        service.listen { _ in changed.change { $0 += 1 } }
        let use = service.addresses(of: host, port: 443, by: ["ali"])
        guard case .unknown = use.addresses.view(atMost: .seconds(20)) else {
            Issue.record("there is no address")
            return
        }
        works.change { $0 = true }
        let began = Moment.now
        // The change to "unknown" may be told only now.
        #expect(changed.wait { _ in known(use)?.addresses == ["192.0.2.7"] })
        #expect(Moment.now - began < .seconds(5).calibrated())
    }

    @Test("A server that fails rests, and the next one answers")
    func nextServer() throws {
        let broken = try RecordingServer { _, _ in Response(status: 500) }
        let good = try RecordingServer { request, _ in Self.reply(request, ["192.0.2.7"]) }
        let service = try service(["ali": alibaba([broken.url, good.url])])
        defer { service.stop() }
        let use = service.addresses(of: host, port: 443, by: ["ali"])
        _ = use.addresses.view(atMost: .seconds(20))
        #expect(known(use)?.resolver == "ali")
        let again = service.addresses(of: "b.\(host)", port: 443, by: ["ali"])
        _ = again.addresses.view(atMost: .seconds(20))
        #expect(queries(broken).count == 1 && queries(good).count == 2)
        #expect(service.status.resolvers[0].restingServers == 1)
    }

    @Test("A refused account is asked once, and told with a remedy")
    func account() throws {
        let server = try RecordingServer { _, _ in
            Response(status: 403, body: Array(#"{"code":"InvalidSignature"}"#.utf8))
        }
        let service = try service(["ali": alibaba([server.url])])
        defer { service.stop() }
        let use = service.addresses(of: host, port: 443, by: ["ali"])
        _ = use.addresses.view(atMost: .seconds(20))
        let next = service.addresses(of: "b.\(host)", port: 443, by: ["ali"])
        _ = next.addresses.view(atMost: .seconds(20))
        #expect(queries(server).count == 1)
        #expect(journal.text.contains("check the resolver's secret"))
        #expect(service.status.resolvers[0].closedFor.map { $0 > .seconds(3000) } ?? false)
    }

    @Test("A captive portal closes no resolver: the server rests, and the next one answers")
    func captivePortal() throws {
        let portal = try RecordingServer { _, _ in
            Response(status: 200, body: Array("<html>Log in to this network</html>".utf8))
        }
        let server = try RecordingServer { _, _ in
            // "192.0.2.7,60" of the test's key.
            Response(
                status: 200,
                body: Array(Self.tencent.concealed("192.0.2.7,60").utf8)
            )
        }
        for urls in [[portal.url], [portal.url, server.url]] {
            var account = Self.tencentAccount
            account.servers = urls.compactMap { ResolverServer($0) }
            let service = try service(["qq": ResolverSettings(.tencent(account))])
            defer { service.stop() }
            let use = service.addresses(of: host, port: 443, by: ["qq"])
            _ = use.addresses.view(atMost: .seconds(20))
            #expect(service.status.resolvers[0].closedFor == nil)
            if urls.count == 2 { #expect(known(use)?.addresses == ["192.0.2.7"]) }
        }
        #expect(journal.text.contains("check the resolver's key"))
    }

    private static var tencentAccount: TencentAccount {
        TencentAccount(.aes(id: "1", key: Secret("0123456789abcdef")))
    }
    private static var tencent: Tencent { Tencent(tencentAccount) }

    @Test("The last answers are there after a restart")
    func kept() throws {
        let server = try RecordingServer { request, _ in Self.reply(request, ["192.0.2.7"]) }
        do {
            let service = try service(["ali": alibaba([server.url])], keeping: true)
            defer { service.stop() }
            let use = service.addresses(of: host, port: 443, by: ["ali"])
            _ = use.addresses.view(atMost: .seconds(20))
        }
        let count = queries(server).count
        server.stop()
        let service = try service(["ali": alibaba([server.url])], keeping: true)
        defer { service.stop() }
        let use = service.addresses(of: host, port: 443, by: ["ali"])
        _ = use.addresses.view(atMost: .seconds(20))
        #expect(known(use)?.addresses == ["192.0.2.7"])
        #expect(queries(server).count == count)
    }

    @Test("A damaged file of answers is ignored")
    func damaged() throws {
        let file = NameFile(path: directory.path + "/names")
        let kept = NameFile.Kept(
            host: host,
            resolvers: ["ali"],
            resolver: "ali",
            addresses: [try #require(IPAddress("192.0.2.7"))],
            expires: .now
        )
        try file.save([kept])
        #expect(file.load()?.map(\.host) == [host])
        var content = try fileContent(file.path)
        content[content.count - 5] ^= 1
        try replaceFile(file.path, with: content)
        #expect(file.load() == nil)
    }

    @Test("Addresses are raced, so a sender begins with one that answers")
    func race() throws {
        let listener = try RecordingServer { _, _ in nil }
        let addresses = ["127.0.0.9", "127.0.0.1"].compactMap { IPAddress($0) }
        let service = try service(["lab": ResolverSettings(.fixed([host: addresses]))])
        defer { service.stop() }
        let use = service.addresses(of: host, port: Int(listener.port), by: ["lab"])
        #expect(eventually { known(use)?.addresses == ["127.0.0.1", "127.0.0.9"] })
    }

    @Test("A failed address gives way to the next, and all that fail ask for others")
    func failedAddress() throws {
        let server = try RecordingServer { request, number in
            Self.reply(request, number < 2 ? ["192.0.2.7"] : ["192.0.2.8"])
        }
        let service = try service(["ali": alibaba([server.url])])
        defer { service.stop() }
        let use = service.addresses(of: host, port: 443, by: ["ali"])
        _ = use.addresses.view(atMost: .seconds(20))
        let first = try #require(IPAddress("192.0.2.7"))
        #expect(known(use)?.addresses == ["192.0.2.7"])
        #expect(!use.addresses.failed(to: first))
        // The resolver is asked again, after a moment at most.
        #expect(eventually { known(use)?.addresses == ["192.0.2.8"] })
    }

    @Test("Hosts beyond the bound are connected to by name")
    func bound() throws {
        let service = try service([:]) { $0.maxHosts = 2 }
        defer { service.stop() }
        var uses = (0..<3).map { service.addresses(of: "h\($0).invalid", port: 1, by: ["x"]) }
        #expect(isByName(uses[2]) && service.status.refusedHosts == 1)
        uses.removeAll()
        let next = service.addresses(of: "h9.invalid", port: 1, by: ["x"])
        _ = next
        #expect(service.status.refusedHosts == 1)
    }

    @Test("An operator sees each resolver's answer and each address tried")
    func inquiry() throws {
        let listener = try RecordingServer { _, _ in nil }
        let addresses = ["127.0.0.9", "127.0.0.1"].compactMap { IPAddress($0) }
        let service = try service(["lab": ResolverSettings(.fixed([host: addresses]))])
        defer { service.stop() }
        let answers = Awaited<[InquiryAnswer]>()
        service.inquire(host, port: Int(listener.port), with: nil) { answers.put($0) }
        let found = answers.take(1)[0].sorted { $0.resolver < $1.resolver }
        #expect(found.map(\.resolver) == ["lab", "system"])
        #expect(found[0].trials.count == 2 && found[0].trials.allSatisfy { $0.problem != nil })
        #expect(found[1].trials.isEmpty && found[1].problem != nil)
        service.inquire(host, port: 1, with: "nobody") { answers.put($0) }
        #expect(answers.take(1)[0][0].problem == "there is no such resolver")
    }
}
