import Net
import System
import Testing

@testable import Resolvers

/// Servers, and the order in which servers and addresses are tried.
@Suite struct ServerTests {
    private let now = Moment(nanoseconds: 1_000_000_000_000)

    private func resolver(allowsPrivate: Bool = false) -> Resolver {
        var account = AlibabaAccount(id: "1")
        account.version = .v1
        var settings = ResolverSettings(.alibaba(account))
        settings.allowsPrivate = allowsPrivate
        return Resolver("ali", settings, AlibabaV1(account), listDue: now)
    }

    @Test(
        "Servers as operators write them",
        arguments: [
            ("https://203.107.1.1", "https://203.107.1.1", true),
            ("https://203.107.1.1/", "https://203.107.1.1", true),
            ("http://127.0.0.1:8053", "http://127.0.0.1:8053", true),
            ("https://[2401:b180::1]:8443", "https://[2401:b180::1]:8443", true),
            ("https://dns.example:443", "https://dns.example", true),
            ("203.107.1.1", "", false), ("ftp://203.107.1.1", "", false),
            ("https://", "", false), ("https://a..b", "", false), ("https://a:0", "", false),
            ("https://a:65536", "", false), ("https://[::1", "", false),
            ("https://[dns.example]", "", false), ("https://a b", "", false),
        ]
    )
    func parsing(text: String, origin: String, isServer: Bool) {
        let server = ResolverServer(text)
        #expect((server != nil) == isServer)
        if isServer { #expect(server?.origin == origin) }
    }

    @Test("An encrypted address is checked for the service's name")
    func certificateName() throws {
        let server = try #require(
            ResolverServer("https://203.107.1.1", certificateName: "resolvers.example")
        )
        #expect(server.origin == "https://resolvers.example")
        #expect(server.address == IPAddress("203.107.1.1"))
        let plain = try #require(
            ResolverServer("http://203.107.1.1", certificateName: "resolvers.example")
        )
        #expect(plain.origin == "http://203.107.1.1" && plain.address == nil)
    }

    @Test("A server that fails rests, all that rest are tried one at a time")
    func rotation() {
        let servers = (1...3).map { ResolverServer(isEncrypted: false, name: "192.0.2.\($0)") }
        var list = ServerList(servers)
        for server in servers {
            #expect(list.next(now, isUrgent: false) == server)
            #expect(list.next(now, isUrgent: false) == server)
            list.failed(server, now)
        }
        #expect(list.isExhausted(now) && list.resting(now) == 3)
        #expect(list.next(now, isUrgent: false) == nil)
        #expect(list.next(now, isUrgent: true) == nil)
        #expect(list.next(now + .seconds(1), isUrgent: true) == servers[0])
        #expect(list.next(now + .milliseconds(1_900), isUrgent: true) == nil)
        #expect(list.next(now + .seconds(30), isUrgent: false) == nil)
        #expect(list.next(now + .seconds(31), isUrgent: false) == servers[0])
        list.answered(servers[0])
        #expect(list.next(now + .seconds(32), isUrgent: false) == servers[0])
        #expect(list.resting(now + .seconds(301)) == 0)
    }

    @Test("Another list begins at its front, and knows the servers that rest")
    func replaced() {
        let servers = (1...3).map { ResolverServer(isEncrypted: false, name: "192.0.2.\($0)") }
        var list = ServerList(Array(servers.prefix(2)))
        list.failed(servers[0], now)
        list.replace(with: [servers[0], servers[2]])
        #expect(list.next(now, isUrgent: false) == servers[2])
    }

    @Test("The fastest address comes first and stays, failed ones come last")
    func ranking() throws {
        let addresses = try (1...3).map { try #require(IPAddress("192.0.2.\($0)")) }
        var ranking = AddressRanking()
        ranking.use(addresses)
        #expect(ranking.ranked(now) == addresses)
        ranking.connected(addresses[2], in: .milliseconds(10))
        #expect(ranking.ranked(now) == [addresses[2], addresses[0], addresses[1]])
        // Not clearly faster.
        ranking.connected(addresses[1], in: .milliseconds(9))
        #expect(ranking.ranked(now)[0] == addresses[2])
        ranking.connected(addresses[0], in: .milliseconds(1))
        #expect(ranking.ranked(now)[0] == addresses[0])
        ranking.failed(addresses[2], now)
        #expect(ranking.ranked(now) == [addresses[0], addresses[1], addresses[2]])
        #expect(ranking.hasHealthy(now))
        for address in addresses { ranking.failed(address, now) }
        #expect(!ranking.hasHealthy(now))
        // The one that failed twice rests longest.
        #expect(ranking.ranked(now).last == addresses[2])
        #expect(ranking.takeRecovery(now + .seconds(29)) == false)
        #expect(ranking.takeRecovery(now + .seconds(30)) == true)
        #expect(ranking.hasHealthy(now + .seconds(30)))
    }

    @Test("IPv6 and IPv4 take turns in a race")
    func interleaved() throws {
        let addresses = try ["192.0.2.1", "192.0.2.2", "2001:db8::1", "192.0.2.3"].map {
            try #require(IPAddress($0))
        }
        #expect(
            AddressRace.interleaved(addresses).map(\.description)
                == ["2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3"]
        )
    }

    @Test(
        "Addresses of networks that nobody reaches from outside",
        arguments: [
            "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0",
            "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.0.0",
            "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.1", "192.168.0.1",
            "198.18.0.1", "198.19.255.255", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::",
            "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "100::1", "fc00::1",
            "fdff::1", "fe80::1", "fec0::1", "ff02::1",
            // Documentation, deprecated relays, and addresses that contain others.
            "192.0.2.1", "192.88.99.1", "198.51.100.1", "203.0.113.1", "64:ff9b:1::a00:1",
            "2001::1", "2001:0:a00:1::", "2001:2::1", "2001:20::1", "2001:1ff:ffff::1",
            "2001:db8::1", "3fff::1", "5f00::1", "4000::1",
        ]
    )
    func privateAddresses(text: String) throws {
        #expect(!PublicAddresses.contain(try #require(IPAddress(text))))
    }

    @Test(
        "Addresses of everybody",
        arguments: [
            "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
            "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
            "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
            "198.20.0.0", "203.107.1.1", "223.255.255.255", "2401:b180::1", "2001:200::1",
            "2001:4860:4860::8888", "2003::1", "3ffe::1",
        ]
    )
    func publicAddresses(text: String) throws {
        #expect(PublicAddresses.contain(try #require(IPAddress(text))))
    }

    @Test("A public server must not lead into this network, one on this machine may")
    func allowed() throws {
        let resolver = resolver()
        let inside = try #require(IPAddress("127.0.0.1"))
        let outside = try #require(ResolverServer("https://203.107.1.1"))
        let local = try #require(ResolverServer("http://127.0.0.1:8053"))
        #expect(!resolver.allows(inside, from: outside) && resolver.allows(inside, from: local))
        #expect(resolver.allows(try #require(IPAddress("203.107.1.9")), from: outside))
        #expect(self.resolver(allowsPrivate: true).allows(inside, from: outside))
    }

    @Test("The list of servers is asked for when it is due, and of a closed resolver later")
    func list() throws {
        let resolver = resolver()
        let server = try #require(resolver.takeListServer(now))
        #expect(resolver.takeListServer(now) == nil)
        let failure = QueryFailure(.account, "InvalidAccount", remedy: "check it")
        #expect(resolver.failed(server, failure, told: nil, now) == false)
        let later = now + .seconds(301)
        #expect(resolver.takeListServer(later) == nil)
        // Nothing is due, or the thread would not sleep.
        #expect(resolver.listDue.map { $0 > later } ?? false)
        let open = now + .seconds(3601)
        #expect(resolver.takeListServer(open) == server)
        resolver.listed([server], open)
        #expect(resolver.listDue.map { $0 > open + .seconds(3600) } ?? false)
        #expect(resolver.takeListServer(open + .seconds(3600)) == nil)
    }

    @Test("A wrong clock is corrected by the server's, and by nothing twice")
    func clock() throws {
        let resolver = resolver()
        let server = try #require(resolver.server(now, isUrgent: true))
        let failure = QueryFailure(.clock, "SignatureExpired", remedy: "set the clock")
        let told = WallTime.now + .seconds(86_400)
        #expect(resolver.failed(server, failure, told: told, now))
        #expect(resolver.time(.now) - .now > .seconds(86_000))
        #expect(!resolver.failed(server, failure, told: told, now))
        #expect(resolver.server(now, isUrgent: true) == nil)
        resolver.open(now)
        #expect(resolver.server(now, isUrgent: true) != nil)
    }
}
