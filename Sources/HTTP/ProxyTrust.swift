package import Net
import System

/// The proxies in front of a server that may name their clients. Several servers may share it. A
/// reload replaces its rules for later connections.
package final class ProxyTrust: Sendable {
    package struct Rules: Sendable, Equatable {
        package var ranges: [AddressRange]
        /// Every connection comes through a proxy and begins with a PROXY header.
        package var speaksProxy: Bool

        package init(ranges: [AddressRange] = [], speaksProxy: Bool = false) {
            self.ranges = ranges
            self.speaksProxy = speaksProxy
        }

        package func trusts(_ address: IPAddress) -> Bool {
            ranges.contains { $0.contains(address) }
        }
    }

    private let current: Locked<Rules>

    package init(_ rules: Rules = Rules()) {
        current = Locked(rules)
    }

    package var rules: Rules { current.withLock { $0 } }

    package func replace(_ rules: Rules) {
        current.withLock { $0 = rules }
    }
}
