/// Logs of one or more requests as SLS wants them: `Log` entries of a LogGroup (0x0A, length, Log)
/// one after the other, ready to be joined to others of the same stream.
package struct EncodedLogs: Sendable, Equatable {
    package var bytes: [UInt8]
    package var count: Int

    package init(bytes: [UInt8] = [], count: Int = 0) {
        self.bytes = bytes
        self.count = count
    }
}

/// What the logs of one LogGroup have in common besides their destination: topic, source and tags,
/// kept as the bytes that end the LogGroup.
package struct GroupTrailer: Hashable, Sendable {
    /// Encoded Topic (3), Source (4) and LogTags (6), in that order; empty when there are none.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }
}
