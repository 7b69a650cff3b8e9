package import Net
package import SLS
package import System

/// How a sandbox behaves; every setting but the keys has a default that suits a person on a laptop.
package struct SandboxConfiguration: Sendable {
    /// Port 0 lets the kernel choose; `SandboxServer.address` tells which it was.
    package var listen: ListenAddress
    /// Whose signatures count. More can be added, and these taken away, over `/keys`.
    package var keys: [Credential]
    /// The database file that keeps what arrives; nil keeps it in memory.
    package var storage: String?
    /// The projects that exist; nil stands for every valid name.
    package var projects: Set<String>?
    /// The logstores that exist in each project; nil stands for every valid name.
    package var logstores: Set<String>?
    /// The only region that v4 signatures may name; nil takes any.
    package var region: String?
    package var limits = Limits()
    /// Makes request ids and the choices of faults repeatable.
    package var seed: UInt64?
    package var loops: Int = 2
    /// What time it is; tests pass their own.
    package var clock: @Sendable () -> WallTime = { .now }
    /// The steady clock behind rate limits.
    package var moment: @Sendable () -> Moment = { .now }

    package init(listen: ListenAddress, keys: [Credential], storage: String? = nil) {
        self.listen = listen
        self.keys = keys
        self.storage = storage
    }

    package struct Limits: Sendable {
        /// What SLS takes in one request, uncompressed.
        package var rawBytesMax = 10 * 1024 * 1024
        /// Older pages of SLS say 4096, its own producers send up to this many.
        package var logsPerRequestMax = 40_960
        package var keyBytesMax = 128
        package var valueBytesMax = 1024 * 1024
        package var topicBytesMax = 128
        package var sourceBytesMax = 128
        package var oldestLog: Duration = .seconds(7 * 24 * 3600)
        package var newestLog: Duration = .seconds(15 * 60)
        package var clockSkewMax: Duration = .seconds(15 * 60)

        /// Beyond these the oldest requests are dropped, with their logs, and counted.
        package var storedLogsMax = 1_000_000
        package var storedBytesMax = 256 * 1024 * 1024
        /// Lanes whose last sequence id is remembered.
        package var lanesMax = 65_536
        package var faultsMax = 100
        package var rateLimitsMax = 100
        package var keysMax = 1000
        package var poisonsMax = 32
        /// Answers that latency, `hold` or `wait` keep back at the same time.
        package var lateAnswersMax = 10_000

        package init() {}
    }
}

extension SandboxConfiguration.Limits {
    /// What a body may weigh on the wire: the worst that lz4 makes of the largest raw body.
    var wireBytesMax: Int { rawBytesMax + rawBytesMax / 255 + 16 }
}
