/// An error of the queue.
package struct QueueError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Equatable, Sendable {
        /// Another process holds the data directory.
        case inUse
        /// The directory cannot be created, opened or written.
        case directory
        case diskFull
        case corrupt
        /// The queue recalls the packet.
        case withdrawn
        /// Written by a newer Sluice.
        case newerSchema
        /// Another gateway has the shard.
        case fenced
        /// The engine of the commit log cannot be reached at this moment.
        case unreachable
        /// The engine of the commit log refuses this gateway, or lacks what it needs.
        case refused
        case io
    }

    package let kind: Kind
    /// One sentence with the path, the cause and the remedy.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
