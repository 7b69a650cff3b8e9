import CPrograms
import Glibc
import System
import TestSupport
import Testing

@testable import Net

/// The kernel's news of addresses and routes.
@Suite struct NetworkWatchTests {
    @Test("Addresses and routes that come and go are changes, in a network of the test's own")
    func changes() throws {
        // Without the right to have such a network there is nothing to test.
        let outcome = Awaited<[Bool]?>()
        let worker = try Worker("own-network") { outcome.put(Self.trial()) }
        worker.join()
        guard let found = outcome.take(1)[0] else { return }
        #expect(found == [false, true, false, true, false, true, false])
    }

    @Test("Only other addresses or default routes make a difference")
    func differences() throws {
        var ends: [CInt] = [0, 0]
        try #require(socketpair(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        let network = SharedValue<Set<String>?>(["192.0.2.1"])
        let watch = NetworkWatch(
            taking: OwnedDescriptor(taking: ends[0]),
            fingerprint: { network.now }
        )
        var found = [watch.takeDifference()]
        network.change { $0 = ["192.0.2.2"] }
        found += [watch.takeDifference(), watch.takeDifference()]
        // What cannot be found out counts.
        network.change { $0 = nil }
        found += [watch.takeDifference(), watch.takeDifference()]
        #expect(found == [false, true, false, true, true])
        let real = try #require(NetworkWatch.addressesAndRoutes())
        #expect(real.allSatisfy { !$0.hasPrefix("127.") && $0 != "::1" })
    }

    /// nil: it is not permitted. Runs on a thread that ends with it.
    private static func trial() -> [Bool]? {
        guard programs_enter_new_network() == 0, let watch = try? NetworkWatch() else { return nil }
        // The kernel tells within the call that changes something.
        var found = [watch.takeChange()]
        for command in [
            ["link", "set", "lo", "up"], ["addr", "add", "192.0.2.1/32", "dev", "lo"],
            ["route", "add", "198.51.100.0/24", "dev", "lo"],
        ] {
            guard let process = try? ChildProcess(["/usr/sbin/ip"] + command),
                process.wait() == 0
            else { return nil }
            found += [watch.takeChange(), watch.takeChange()]
        }
        return found
    }
}
