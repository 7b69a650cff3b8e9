package import System

/// The waiting streams: the first ones of each destination, and the number of further ones.
package struct StreamListing: Sendable {
    package struct Entry: Sendable {
        package let stream: StreamKey
        package let logs: Int
        /// Before compression.
        package let rawBytes: Int
        /// Packets that are sealed and not acknowledged.
        package let packets: Int
        package let oldest: WallTime

        package init(
            stream: StreamKey,
            logs: Int,
            rawBytes: Int,
            packets: Int,
            oldest: WallTime
        ) {
            self.stream = stream
            self.logs = logs
            self.rawBytes = rawBytes
            self.packets = packets
            self.oldest = oldest
        }
    }

    package struct Destination: Sendable {
        package let entries: [Entry]
        /// The number of further streams with logs.
        package let more: Int

        package init(entries: [Entry] = [], more: Int = 0) {
            self.entries = entries
            self.more = more
        }
    }

    package let destinations: [String: Destination]

    package init(_ destinations: [String: Destination]) {
        self.destinations = destinations
    }
}

/// A question about streams.
package struct StreamWish: Sendable, Equatable {
    package enum Order: String, Sendable, CaseIterable {
        /// Streams that have waited longest come first.
        case oldest
        /// Streams with the most bytes come first.
        case largest
    }

    /// Nil for all destinations.
    package var destination: String?
    package var order = Order.oldest
    /// The greatest number of streams of each destination.
    package var count = 20

    package static let countMax = 1000

    package init() {}
}

/// Lists the queue's streams.
package protocol StreamLister: Sendable {
    /// Answers with the state at the last commit, on the queue's thread. The callback must be quick
    /// and must not wait. The answer is nil if the queue cannot be read now or too many callers
    /// wait.
    func list(_ wish: StreamWish, _ answer: @escaping @Sendable (StreamListing?) -> Void)
}
