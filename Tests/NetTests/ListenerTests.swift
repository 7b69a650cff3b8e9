import Glibc
import System
import Testing

@testable import Net

@Suite struct ListenerTests {
    @Test("Several loops share the port that the first one was given")
    func sharesPort() throws {
        let first = try Listener(ListenAddress(host: "127.0.0.1", port: 0))
        let second = try Listener(joining: first)
        #expect(first.address.port != 0)
        #expect(second.address == first.address)
    }

    @Test("A taken port is an error that names it")
    func takenPort() throws {
        let first = try Listener(ListenAddress(host: "127.0.0.1", port: 0))
        let error = #expect(throws: ListenError.self) { _ = try Listener(first.address) }
        #expect(error == .taken(first.address))
        #expect(error?.description.contains("\(first.address)") == true)
        #expect(error?.description.contains("ss -ltnp") == true)
    }

    @Test("An address of another machine is refused with the reason")
    func foreignAddress() {
        let address = ListenAddress(host: "192.0.2.77", port: 0)
        #expect(throws: ListenError.noSuchAddress(address)) { _ = try Listener(address) }
    }

    @Test("A port can be bound again at once after its server closed")
    func portIsFreeAgain() throws {
        let address: ListenAddress
        do {
            let listener = try Listener(ListenAddress(host: "127.0.0.1", port: 0))
            address = listener.address
        }
        #expect(try Listener(address).address == address)
    }

    @Test("The unspecified address accepts both families, IPv4 clients with their IPv4 address")
    func everywhere() throws {
        let listener = try Listener(.everywhere(port: 0))
        #expect(listener.address.host == "::")
        for target in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let peer = try peer(of: listener, connectingTo: target)
            let expected = try #require(IPAddress(target))
            #expect(peer.ip == expected)
            #expect(peer.host == expected.description)
            #expect(peer.ip.isV4 == (target != "::1"))
            #expect(peer.neighbourhood == expected.neighbourhood)
        }
    }

    @Test(
        "Without IPv6, the unspecified address means all IPv4 addresses, for all loops",
        arguments: [
            ("socket", EAFNOSUPPORT), ("socket", EPROTONOSUPPORT), ("bind", EADDRNOTAVAIL),
        ]
    )
    func noIPv6(call: String, code: CInt) throws {
        var calls = ListenerCalls.kernel
        if call == "socket" {
            calls.socket = { family, type in
                guard family == AF_INET6 else { return socket(family, type, 0) }
                errno = code
                return -1
            }
        } else {
            calls.bind = { number, address, length in
                guard address.pointee.sa_family == sa_family_t(AF_INET6) else {
                    return bind(number, address, length)
                }
                errno = code
                return -1
            }
        }
        let listener = try Listener(.everywhere(port: 0), calls: calls)
        #expect(listener.address.host == "0.0.0.0")
        #expect(try Listener(joining: listener).address == listener.address)
        #expect(try peer(of: listener, connectingTo: "127.0.0.1").host == "127.0.0.1")
        // An address that somebody wrote is never another one.
        let error = #expect(throws: ListenError.self) {
            _ = try Listener(ListenAddress(host: "::", port: 0), calls: calls)
        }
        #expect(error?.saysNoIPv6 == true)
    }

    @Test("A taken port is not mistaken for missing IPv6")
    func takenEverywhere() throws {
        let first = try Listener(ListenAddress(host: "0.0.0.0", port: 0))
        let address = ListenAddress.everywhere(port: first.address.port)
        #expect(throws: ListenError.taken(address)) { _ = try Listener(address) }
    }

    /// Whom the listener sees when a client connects.
    private func peer(
        of listener: Listener,
        connectingTo host: String
    ) throws -> SocketAddress {
        let address = try #require(SocketAddress(host: host, port: listener.address.port))
        let client = OwnedDescriptor(
            taking: try system("socket") { socket(address.family, CInt(SOCK_STREAM.rawValue), 0) }
        )
        _ = try system("connect") { address.withPointer { connect(client.number, $0, $1) } }
        switch listener.accept() {
        case .connection(_, let peer): return peer
        default:
            Issue.record("nobody was accepted")
            return SocketAddress()
        }
    }

    @Test("Both families are served", arguments: ["127.0.0.1", "::1", "::", "0.0.0.0"])
    func families(host: String) throws {
        let listener = try Listener(ListenAddress(host: host, port: 0))
        let target = host.contains(":") ? "::1" : "127.0.0.1"
        let address = try #require(SocketAddress(host: target, port: listener.address.port))
        let client = OwnedDescriptor(
            taking: try system("socket") { socket(address.family, CInt(SOCK_STREAM.rawValue), 0) }
        )
        _ = try system("connect") { address.withPointer { connect(client.number, $0, $1) } }
        switch listener.accept() {
        case .connection(_, let peer): #expect(peer.host == target)
        default: Issue.record("nobody was accepted")
        }
        switch listener.accept() {
        case .noneWaiting: break
        default: Issue.record("there was one connection only")
        }
    }
}
