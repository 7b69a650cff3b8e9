import Glibc
package import Net
package import System

extension HTTPServer {
    package struct Configuration: Sendable {
        package var listen: ListenAddress
        /// The prefix of the loop threads' names: "http-0", "http-1".
        package var name: String
        package var loops: Int
        /// Worker threads ("http-large-0") for requests that `RequestHandler.prepare` gives them.
        /// Zero: the loops run all requests.
        package var largeRequestThreads = 0
        /// The nice value of its threads. With more than 0 they yield to the process's other
        /// threads when all cores are busy.
        package var nice = 0
        package var limits: Limits
        /// nil serves plain HTTP.
        package var tls: TLSContext?
        /// nil trusts no proxy.
        package var proxies: ProxyTrust?
        /// If set, it replaces the limits on connections and held bytes in `limits`, and counts
        /// them for all servers that share it.
        package var common: CommonLimits?
        package var journal: Journal

        package init(
            listen: ListenAddress,
            name: String = "http",
            loops: Int = coreCount,
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

    /// Bounds on a client's use of bytes, counts and time.
    package struct Limits: Sendable, Equatable {
        /// Without the line end; more is 414.
        package var requestLineBytes = 8 << 10
        /// From the method to the blank line; more is 431.
        package var headBytes = 16 << 10
        /// More is 431.
        package var headFields = 100
        /// Chunk extensions of one body; more is 400.
        package var chunkExtensionBytes = 1 << 10
        /// Trailer fields of one body; more is 400.
        package var trailerBytes = 4 << 10
        /// Incomplete heads, heads with incomplete bodies, and TLS memory of handshakes and partial
        /// records, over all loops. More is 503, or the end of a handshake. One address has half.
        package var heldHeadBytes = 32 << 20
        /// Received bytes of unanswered requests' bodies, over all loops; more is 503.
        package var inFlightBodyBytes = 64 << 20
        /// The body of one answer. More is 500; a handler that knows the size earlier refuses
        /// earlier.
        package var answerBytes = 4 << 20
        /// Answers and streams that clients have not read, over all loops. One address has half.
        /// Beyond it the server answers 503 or closes the connection.
        package var unsentAnswerBytes = 32 << 20
        /// The bound of an answer's head, which may repeat the request's origin.
        package static let answerHeadBytes = 16 << 10
        /// The largest answer with its head. `unsentAnswerBytes` must have room for it.
        package var largestAnswerBytes: Int {
            // Avoids overflow for an unlimited `answerBytes`.
            min(answerBytes, .max - Self.answerHeadBytes) + Self.answerHeadBytes
        }
        /// The body of a refused request is read and dropped up to this size, so that the
        /// connection survives. A longer one ends it. Dropping takes time but no memory.
        package var droppedBodyBytes = 1 << 20
        /// Over all loops; more is 503.
        package var connections = 20_000
        /// From one IPv4 address or one IPv6 /64; more is 503.
        package var connectionsPerAddress = 1024
        /// From the first to the last byte of a head; more is 408. Also the limit of a TLS
        /// handshake, from the start of its connection.
        package var headTime: Duration = .seconds(10)
        /// Within each such span a body must bring `bodyProgressBytes`, or its end; else 408.
        package var bodyTime: Duration = .seconds(10)
        package var bodyProgressBytes = 1 << 10
        /// A large request that waits longer for a worker thread is refused with 503.
        package var largeWait: Duration = .seconds(10)
        /// The average rate of a body in bytes a second, after the first `bodyTime`; less is 408.
        /// It bounds how long a body of any length holds its memory.
        package var bodyRateMin = 1 << 10
        /// The same rate while more than half of `inFlightBodyBytes` is used: slow bodies must then
        /// make room.
        package var scarceBodyRateMin = 8 << 10
        /// A connection without a request is closed after this time.
        package var idleTime: Duration = .seconds(75)
        /// A client that takes no byte of its answer for this long is disconnected.
        package var writeTime: Duration = .seconds(30)
        /// The average rate at which a client must take its answer, in bytes a second, after the
        /// first `writeTime`; a slower client is disconnected.
        package var answerRateMin = 4 << 10
        /// How long a closing connection waits for its client to close too: since the client's last
        /// bytes, and in all.
        package var lingerTime: Duration = .seconds(2)
        package var lingerTimeMax: Duration = .seconds(15)
        /// A client that sends more than this during that wait is cut off.
        package var lingerBytes = 16 << 20

        package init() {}
    }
}

extension HTTPServer {
    /// Limits that several servers share: a second port must not double the resources that clients
    /// can take.
    package struct CommonLimits: Sendable {
        let connections: Int
        let budgets: Budgets
        let connectionCount: ConnectionCount

        package init(_ limits: Limits, _ journal: Journal) {
            connections = HTTPServer.connections(
                within: limits.connections,
                descriptors: DescriptorLimit.raise(),
                journal
            )
            budgets = Budgets(limits)
            connectionCount = ConnectionCount(
                limit: connections,
                perNeighbourhood: limits.connectionsPerAddress
            )
        }
    }
}
