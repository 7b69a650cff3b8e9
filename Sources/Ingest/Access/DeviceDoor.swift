package import Configuration
package import HTTP
import System
import Tokens

/// Who may send, and what: looked at with each request, replaced with a reload.
package final class DeviceDoor: Sendable {
    let keys: Replaceable<DeviceKeys>
    /// For the listeners.
    package let proxies: ProxyTrust
    package let addresses = AddressBook()
    package let keySources: TokenKeySources
    private let bodyBytesMax: Int
    package let nonces = NonceMemory()
    private let refused = CounterList(count: AccessProblem.allCases.count)

    /// No body has more than `bodyBytesMax`.
    package init(_ settings: DeviceSettings, bodyBytesMax: Int) {
        self.bodyBytesMax = bodyBytesMax
        proxies = ProxyTrust(settings.proxies)
        keySources = TokenKeySources()
        self.keys = Replaceable(
            DeviceKeys(
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
        keys.replace {
            DeviceKeys(
                new,
                after: $0,
                bodyBytesMax: bodyBytesMax,
                nonces: nonces,
                fetched: fetched
            )
        }
    }

    /// The answer to whoever is not known, counted.
    func refusal(_ problem: AccessProblem) -> Refusal {
        refused.add(1, at: problem.place)
        return problem.refusal
    }

    /// By the name of the key.
    package var counts: [(name: String, counts: KeyCounter.Counts)] {
        keys.value.senders.map { ($0.name, $0.counter.counts) }
    }

    /// So many tokens are remembered.
    package var tokenCount: Int { keys.value.tokens?.count ?? 0 }

    package var strangers: [(reason: String, count: Int)] {
        AccessProblem.allCases.map { ($0.rawValue, refused[$0.place]) }
    }
}
