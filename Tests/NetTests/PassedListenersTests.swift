import Glibc
import System
import TestSupport
import Testing

@testable import Net

@Suite struct PassedListenersTests {
    private let announced = ["LISTEN_FDS": "1", "LISTEN_PID": "\(getpid())"]

    /// A socket as a service manager passes it: a copy of the one that it keeps.
    private func copy(of listener: borrowing Listener) -> CInt { dup(listener.descriptor) }

    private let local = ListenAddress(host: "127.0.0.1", port: 0)

    @Test("A passed socket serves the address that it listens on")
    func takesSocket() throws {
        let kept = try Listener(local)
        let passed = try PassedListeners(announced, from: copy(of: kept))
        let taken = try #require(passed.listener(on: kept.address))
        #expect(taken.isPassed)
        #expect(taken.address == kept.address)
        #expect(fcntl(taken.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(taken.descriptor, F_GETFL) & O_NONBLOCK != 0)
        #expect(passed.listener(on: ListenAddress(host: "127.0.0.1", port: 1)) == nil)
    }

    @Test("A client that connects while no process accepts waits for the next one")
    func outlivesProcess() throws {
        let kept = try Listener(local)
        let first = try PassedListeners(announced, from: copy(of: kept))
        first.listener(on: kept.address)?.stopListening()
        let client = try TestConnection(port: kept.address.port)
        let second = try PassedListeners(announced, from: copy(of: kept))
        guard case .connection = try #require(second.listener(on: kept.address)).accept() else {
            Issue.record("the client was not in the backlog")
            return
        }
        withExtendedLifetime(client) {}
    }

    @Test("The unspecified address is matched with and without IPv6")
    func everywhere() throws {
        for host in ["::", "0.0.0.0"] {
            let kept = try Listener(ListenAddress(host: host, port: 0))
            let passed = try PassedListeners(announced, from: copy(of: kept))
            #expect(passed.listener(on: .everywhere(port: kept.address.port)) != nil)
            #expect(
                passed.listener(on: ListenAddress(host: "127.0.0.1", port: kept.address.port))
                    == nil
            )
        }
    }

    @Test("Sockets that are meant for another process, or for none, are not taken")
    func otherProcess() throws {
        let kept = try Listener(local)
        for environment in [[:], ["LISTEN_FDS": "1"], ["LISTEN_FDS": "1", "LISTEN_PID": "1"]] {
            let passed = try PassedListeners(environment, from: kept.descriptor)
            #expect(passed.listener(on: kept.address) == nil)
        }
        // It would be closed if it had been taken.
        #expect(fcntl(kept.descriptor, F_GETFD) >= 0)
    }

    @Test("Something else than a listening TCP socket is refused with its number")
    func wrongKind() throws {
        let datagrams = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
        let unbound = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        let file = open("/dev/null", O_RDONLY)
        for number in [datagrams, unbound, file, 100_000] {
            let problem = #expect(throws: StartProblem.self) {
                _ = try PassedListeners(announced, from: number)
            }
            #expect(problem?.description.contains("passed socket \(number)") == true)
        }
        for count in ["17", "-1", "x"] {
            let many = announced.merging(["LISTEN_FDS": count]) { $1 }
            #expect(throws: StartProblem.self) { _ = try PassedListeners(many, from: 3) }
        }
    }

    @Test("Two sockets for one address are refused, because one would not be served")
    func twice() throws {
        let kept = try Listener(local)
        let both = try (0..<2).map { _ in try Listener(passed: copy(of: kept)) }
        let problem = #expect(throws: StartProblem.self) {
            try PassedListeners(both).check(against: [("listen", kept.address)])
        }
        #expect(problem?.description.contains("2 sockets for listen") == true)
    }

    @Test(
        "A socket on an address that no listener has is refused, with the addresses and the remedy"
    )
    func strangeAddress() throws {
        let kept = try Listener(local)
        let passed = try PassedListeners(announced, from: copy(of: kept))
        try passed.check(against: [("listen", kept.address)])
        let problem = #expect(throws: StartProblem.self) {
            try passed.check(against: [("listen", .everywhere(port: 8080))])
        }
        let told = problem?.description ?? ""
        #expect(told.contains("\(kept.address)") && told.contains("listen: [::]:8080"))
        #expect(told.contains("systemctl edit sluice.socket"))
    }
}
