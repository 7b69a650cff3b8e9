/// A logstore of a destination: what packets are asked for by, so that a logstore which takes nothing holds
/// up none of the others.
package struct Outlet: Hashable, Sendable {
    /// The destination's name in the configuration.
    package let destination: String
    package let logstore: String

    package init(destination: String, logstore: String) {
        self.destination = destination
        self.logstore = logstore
    }
}

extension StreamKey {
    package var outlet: Outlet { Outlet(destination: destination, logstore: logstore) }
}
