import CPrograms
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
