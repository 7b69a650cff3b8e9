package import System

/// What waits in the queue, stream by stream: of each destination the first, and how many more there are.
package struct StreamListing: Sendable {
    package struct Entry: Sendable {
        package let stream: StreamKey
        package let logs: Int
        /// Before compression.
        package let rawBytes: Int
        /// Sealed and not acknowledged.
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
        /// Streams with logs that are not among these.
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
        /// Those first that have waited longest.
        case oldest
        /// Those first with the most bytes.
        case largest
    }

    /// Nil for all.
    package var destination: String?
    package var order = Order.oldest
    /// At most so many of each destination.
    package var count = 20

    package static let countMax = 1000

    package init() {}
}

/// What shows the queue's streams.
package protocol StreamLister: Sendable {
    /// As of the last commit, on the queue's own thread: the callback must be quick and must not wait. Nil while the
    /// queue cannot be looked at, or too many want to.
    func list(_ wish: StreamWish, _ answer: @escaping @Sendable (StreamListing?) -> Void)
}
