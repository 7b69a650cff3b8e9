package import HTTPClient
package import System

/// The inputs of sources besides their settings.
package struct SourceContext: Sendable, CustomStringConvertible, CustomReflectable {
    package var environment: [String: String]
    package var clock = CredentialClock.system
    /// From 0 to 1.
    package var random: @Sendable () -> Double = { .random(in: 0...1) }
    /// The ECS metadata service.
    package var metadata = "http://100.100.100.200"
    /// Replaces Alibaba's STS for sources without an endpoint.
    package var stsEndpoint: String?
    /// Where sources find the addresses of hosts.
    package var addresses = AddressLookup.system

    package init(environment: [String: String]) {
        self.environment = environment
    }

    /// The environment may hold a key.
    package var description: String { "the context of sources" }
    package var customMirror: Mirror { Mirror(self, children: ["metadata": metadata]) }

    /// An empty variable counts as missing: compose files and manifests pass those on.
    func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func isSet(_ name: String) -> Bool {
        variable(name)?.lowercased() == "true"
    }

    func homePath(_ path: String) -> String {
        "\(variable("HOME") ?? "/root")/\(path)"
    }
}

/// The time of day and a way to wait for it; tests replace it.
package struct CredentialClock: Sendable {
    package var now: @Sendable () -> WallTime
    /// The clock since the boot, which shows when the time of day jumps.
    package var moment: @Sendable () -> Moment
    /// Sleeps until a wake-up or the given time; nil waits without limit. It may return early.
    package var sleep: @Sendable (WakeUp, WallTime?) -> Void

    /// Sleeps at most a minute, because the time of day may jump.
    package static let system = CredentialClock(
        now: { WallTime.now },
        moment: { Moment.now }
    ) { wake, time in
        let left = time.map { max(.zero, $0 - WallTime.now) } ?? .seconds(60)
        wake.wait(timeout: min(left, .seconds(60)))
    }
}
