package import Net
package import SLS
package import System

/// The sandbox's settings. All except the keys have defaults for use on a laptop.
package struct SandboxConfiguration: Sendable {
    /// Port 0 lets the kernel choose; `SandboxServer.address` has the chosen port.
    package var listen: ListenAddress
    /// Credentials that may sign. `/keys` adds and removes others.
    package var keys: [Credential]
    /// The database file for received logs; nil keeps them in memory.
    package var storage: String?
    /// The existing projects; nil means every valid name.
    package var projects: Set<String>?
    /// The existing logstores of each project; nil means every valid name.
    package var logstores: Set<String>?
    /// The only region that v4 signatures may name; nil accepts any.
    package var region: String?
    package var limits = Limits()
    package var capacity = Capacity()
    /// Accounts of resolvers; nil for no look-alikes of resolvers.
    package var resolver: ResolverAccounts?
    /// nil for plain HTTP.
    package var tls: TLSContext?
    /// Makes request ids and random faults repeatable.
    package var seed: UInt64?
    package var loops: Int = 2
    /// The time of day; tests replace it.
    package var clock: @Sendable () -> WallTime = { .now }
    /// The clock for rate limits.
    package var moment: @Sendable () -> Moment = { .now }

    package init(listen: ListenAddress, keys: [Credential], storage: String? = nil) {
        self.listen = listen
        self.keys = keys
        self.storage = storage
    }

    /// SLS's limits of requests and logs.
    package struct Limits: Sendable {
        /// SLS's limit of one request, uncompressed.
        package var rawBytesMax = 10 * 1024 * 1024
        /// Older SLS pages say 4096; SLS's own producers send up to this many.
        package var logsPerRequestMax = 40_960
        package var keyBytesMax = 128
        package var valueBytesMax = 1024 * 1024
        package var topicBytesMax = 128
        package var sourceBytesMax = 128
        package var oldestLog: Duration = .seconds(7 * 24 * 3600)
        package var newestLog: Duration = .seconds(15 * 60)
        package var clockSkewMax: Duration = .seconds(15 * 60)

        package init() {}
    }

    /// How much the sandbox itself keeps.
    package struct Capacity: Sendable {
        /// When these are exceeded, the oldest requests are dropped with their logs, and counted.
        package var storedLogsMax = 1_000_000
        package var storedBytesMax = 256 * 1024 * 1024
        /// Lanes whose last sequence id is remembered.
        package var lanesMax = 65_536
        package var faultsMax = 100
        package var rateLimitsMax = 100
        package var keysMax = 1000
        package var poisonsMax = 32
        /// Answers that latency, `hold` or `wait` delay at the same time.
        package var lateAnswersMax = 10_000
    }
}

extension SandboxConfiguration.Limits {
    /// The largest body on the wire: lz4's worst case for the largest raw body.
    var wireBytesMax: Int { rawBytesMax + rawBytesMax / 255 + 16 }
}
