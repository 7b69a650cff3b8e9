package import Net
import System

/// The proxies in front of a server, whom it believes about whom they speak for. Several servers may share it; a
/// reload replaces what it says, for connections that come later.
package final class ProxyTrust: Sendable {
    package struct Rules: Sendable, Equatable {
        package var ranges: [AddressRange]
        /// Whether each connection comes through one of them, and begins with what it says of its client.
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
