package import Configuration
package import HTTP
import Net
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
        let fetched = keySources.use(settings.tokens)
        let keys = DeviceKeys(
            settings,
            bodyBytesMax: bodyBytesMax,
            nonces: nonces,
            fetched: fetched
        )
        access = Replaceable(DeviceAccess(settings, keys, bodyBytesMax: bodyBytesMax))
    }

    package func replace(_ new: DeviceSettings) {
        proxies.replace(new.proxies)
        let fetched = keySources.use(new.tokens)
        access.replace { before in
            let keys = DeviceKeys(
                new,
                after: before.keys,
                bodyBytesMax: bodyBytesMax,
                nonces: nonces,
                fetched: fetched
            )
            return DeviceAccess(new, keys, bodyBytesMax: bodyBytesMax)
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

/// Who may send from where, in which dialects. Every request is checked against it; a reload
/// replaces it. A class, so that each look costs one reference.
final class DeviceAccess: Sendable {
    let keys: DeviceKeys
    let origins: OriginRules
    let accepted: AcceptedDialects
    let preflightHeaders: PreflightHeaders
    /// nil: addresses have no limits.
    let addressLimits: AddressLimits?
    let proxies: [AddressRange]
    let plainStatus: Int

    init(_ settings: DeviceSettings, _ keys: DeviceKeys, bodyBytesMax: Int) {
        self.keys = keys
        origins = OriginRules(
            common: settings.cors.origins,
            own: settings.senders.map { $0.rules.origins }
        )
        accepted = settings.accepted
        preflightHeaders = PreflightHeaders(settings.accepted, settings.cors.headers)
        addressLimits = AddressLimits(settings.perAddress, bodyBytesMax: bodyBytesMax)
        proxies = settings.proxies.ranges
        plainStatus = settings.plainStatus
    }
}
