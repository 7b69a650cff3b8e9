package import Configuration
package import HTTP
import System
import Tokens

/// The current `DeviceAccess`, and what outlives its replacement: budgets of addresses, nonces,
/// fetched token keys and counters.
package final class DeviceDoor: Sendable {
    let access: Replaceable<DeviceAccess>
    /// For the listeners.
    package let proxies: ProxyTrust
    package let addresses = AddressBook()
    package let keySources: TokenKeySources
    package let nonces = NonceMemory()
    private let bodyBytesMax: Int
    private let refused = CounterSet<AccessProblem>()

    /// `bodyBytesMax` is the largest body that the listeners accept.
    package init(_ settings: DeviceSettings, bodyBytesMax: Int) {
        self.bodyBytesMax = bodyBytesMax
        proxies = ProxyTrust(settings.proxies)
        keySources = TokenKeySources()
        access = Replaceable(
            DeviceAccess(
                settings,
                bodyBytesMax: bodyBytesMax,
                nonces: nonces,
                fetched: keySources.use(settings.tokens)
            )
        )
    }

    package func replace(_ new: DeviceSettings) {
        proxies.replace(new.proxies)
        let fetched = keySources.use(new.tokens)
        access.replace {
            DeviceAccess(
                new,
                after: $0,
                bodyBytesMax: bodyBytesMax,
                nonces: nonces,
                fetched: fetched
            )
        }
    }

    /// Counts a request without a known sender, and returns the refusal.
    func refusal(_ problem: AccessProblem) -> Refusal {
        refused.count(problem)
        return problem.refusal
    }

    /// By the name of the key.
    package var counts: [KeyCounts] {
        access.value.keys.senders.map {
            KeyCounts(
                name: $0.name,
                taken: $0.counter.taken.counts,
                refused: $0.counter.refused.counts
            )
        }
    }

    /// Verified tokens in memory.
    package var tokenCount: Int { access.value.keys.tokens?.count ?? 0 }

    /// Refused requests without a known sender, by the reason.
    package var unknownSenders: [(reason: String, count: Int)] {
        refused.counts.named.map { ($0, $1) }
    }
}
