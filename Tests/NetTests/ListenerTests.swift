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

    @Test("A port that another server has is an error that names it")
    func takenPort() throws {
        let first = try Listener(ListenAddress(host: "127.0.0.1", port: 0))
        let error = #expect(throws: ListenError.self) { _ = try Listener(first.address) }
        #expect(error == .taken(first.address))
        #expect(error?.description.contains("\(first.address)") == true)
        #expect(error?.description.contains("ss -ltnp") == true)
    }

    @Test("An address of another machine is an error that says so")
    func foreignAddress() {
        let address = ListenAddress(host: "192.0.2.77", port: 0)
        #expect(throws: ListenError.noSuchAddress(address)) { _ = try Listener(address) }
    }

    @Test("A closed port can be taken again at once")
    func portIsFreeAgain() throws {
        let address: ListenAddress
        do {
            let listener = try Listener(ListenAddress(host: "127.0.0.1", port: 0))
            address = listener.address
        }
        #expect(try Listener(address).address == address)
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
        case .nobody: break
        default: Issue.record("there was one connection only")
        }
    }
}
