import Glibc
package import Net
package import System

extension HTTPServer {
    package struct Configuration: Sendable {
        package var listen: ListenAddress
        /// Names the loop threads: "http-0", "http-1".
        package var name: String
        package var loops: Int
        /// Worker threads ("http-large-0") for requests that `RequestHandler.costIfLarge` names. Zero: loops run
        /// them all.
        package var largeRequestThreads = 0
        package var limits: Limits
        /// Nil serves plain HTTP.
        package var tls: TLSContext?
        /// Nil believes nobody about others.
        package var proxies: ProxyTrust?
        /// Given, those of `limits` that count connections and what they hold hold for all servers that have it.
        package var common: CommonLimits?
        package var journal: Journal

        package init(
            listen: ListenAddress,
            name: String = "http",
            loops: Int = HTTPServer.cores,
            limits: Limits = Limits(),
            tls: TLSContext? = nil,
            journal: Journal
        ) {
            self.listen = listen
            self.name = name
            self.loops = max(1, loops)
            self.limits = limits
            self.tls = tls
            self.journal = journal
        }
    }

    /// What a client may use up, in bytes, counts and time.
    package struct Limits: Sendable, Equatable {
        /// Without the line's end; more is 414.
        package var requestLineBytes = 8 << 10
        /// From the method to the blank line; more is 431.
        package var headBytes = 16 << 10
        /// More is 431.
        package var headFields = 100
        /// Chunk extensions of one body; more is 400.
        package var chunkExtensionBytes = 1 << 10
        /// Trailer fields of one body; more is 400.
        package var trailerBytes = 4 << 10
        /// Heads that are not complete, or whose bodies are not, and what TLS holds of handshakes and records under way,
        /// over all loops; more is 503, or the end of a handshake. One address has half.
        package var heldHeadBytes = 32 << 20
        /// What has come of bodies whose requests have no answer yet, over all loops; more is 503.
        package var inFlightBodyBytes = 64 << 20
        /// The body of one answer. More is 500; a handler that can know it before says so before.
        package var answerBytes = 4 << 20
        /// Answers and streams that their clients have not taken, over all loops. One address has half. What
        /// has no room is 503, or ends the connection.
        package var unsentAnswerBytes = 32 << 20
        /// No head of an answer is longer than this and the origin that it may repeat.
        package static let answerHeadBytes = 16 << 10
        /// The largest answer with its head. `unsentAnswerBytes` must have room for it.
        package var largestAnswerBytes: Int {
            // Without a bound there is none for both.
            min(answerBytes, .max - Self.answerHeadBytes) + Self.answerHeadBytes
        }
        /// The body of a refused request is read and dropped up to this size, so that the connection
        /// lives on. A longer one ends it. Dropping takes time but no memory.
        package var droppedBodyBytes = 1 << 20
        /// Over all loops; more is 503.
        package var connections = 20_000
        /// From one v4 address or one v6 /64; more is 503.
        package var connectionsPerAddress = 1024
        /// From the first byte of a head to its last; more is 408. So long may a TLS handshake take too,
        /// from the first moment of its connection.
        package var headTime: Duration = .seconds(10)
        /// A body must bring `bodyProgressBytes`, or its end, each time this has passed; else 408.
        package var bodyTime: Duration = .seconds(10)
        package var bodyProgressBytes = 1 << 10
        /// A large request that has waited so long for a worker thread is refused with 503.
        package var largeWait: Duration = .seconds(10)
        /// The average that a body must keep, in bytes a second, after a start of `bodyTime`; else
        /// 408. It bounds how long a body of any length can hold what came of it.
        package var bodyRateMin = 1 << 10
        /// The same while more than half of `inFlightBodyBytes` is used: then the slow ones must leave.
        package var scarceBodyRateMin = 8 << 10
        /// Without a request the connection is closed.
        package var idleTime: Duration = .seconds(75)
        /// A client that takes nothing of its answer for so long is disconnected.
        package var writeTime: Duration = .seconds(30)
        /// The average that a client must keep that takes an answer, in bytes a second, after a start of `writeTime`;
        /// else it is disconnected.
        package var answerRateMin = 4 << 10
        /// How long the end of a connection is put off for a client that is told to go and that has
        /// not ended it: since the last bytes that it sent, and in all.
        package var lingerTime: Duration = .seconds(2)
        package var lingerTimeMax: Duration = .seconds(15)
        /// So much such a client may still send before it is cut off.
        package var lingerBytes = 16 << 20

        package init() {}
    }

    package static var cores: Int { max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN))) }
}
