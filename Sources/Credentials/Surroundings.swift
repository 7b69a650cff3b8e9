import HTTPClient
package import SLS
package import System

/// What sources look at besides their settings.
package struct Surroundings: Sendable, CustomStringConvertible, CustomReflectable {
    package var environment: [String: String]
    package var clock: CredentialClock
    /// From 0 to 1.
    package var random: @Sendable () -> Double
    /// Where the metadata of the ECS instance is.
    package var metadata = "http://100.100.100.200"
    /// Takes the place of Alibaba's STS, where a source names no other.
    package var stsEndpoint: String?

    package init(
        environment: [String: String],
        clock: CredentialClock = .system,
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        self.environment = environment
        self.clock = clock
        self.random = random
    }

    /// The environment may hold a key.
    package var description: String { "the surroundings of sources" }
    package var customMirror: Mirror { Mirror(self, children: ["metadata": metadata]) }

    /// An empty variable is as good as none: compose files and manifests pass those along.
    func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func isSet(_ name: String) -> Bool {
        variable(name)?.lowercased() == "true"
    }

    func inHome(_ path: String) -> String {
        "\(variable("HOME") ?? "/root")/\(path)"
    }
}

/// The time of day, and waiting for it; tests bring their own.
package struct CredentialClock: Sendable {
    package var now: @Sendable () -> WallTime
    /// What does not jump, to see when the time of day does.
    package var moment: @Sendable () -> Moment
    /// Sleeps until somebody wakes or the time has come; nil is without end. It may wake for nothing.
    package var sleep: @Sendable (WakeUp, WallTime?) -> Void

    package init(
        now: @escaping @Sendable () -> WallTime,
        moment: @escaping @Sendable () -> Moment,
        sleep: @escaping @Sendable (WakeUp, WallTime?) -> Void
    ) {
        self.now = now
        self.moment = moment
        self.sleep = sleep
    }

    /// Never sleeps for more than a minute: the time of day may jump.
    package static let system = CredentialClock(
        now: { WallTime.now },
        moment: { Moment.now }
    ) { wake, time in
        let left = time.map { max(.zero, $0 - WallTime.now) } ?? .seconds(60)
        wake.wait(timeout: min(left, .seconds(60)))
    }
}

/// One attempt of a source to get its credential.
package struct SourceVisit: Sendable {
    package let surroundings: Surroundings
    let web: WebClient
    /// The other credentials of the table.
    let lookup: @Sendable (String) -> Credential?

    package init(
        _ surroundings: Surroundings,
        interruption: Interruption,
        lookup: @escaping @Sendable (String) -> Credential? = { _ in nil }
    ) {
        self.surroundings = surroundings
        web = WebClient(interruption: interruption)
        self.lookup = lookup
    }

    var now: WallTime { surroundings.clock.now() }
}
