/// Logs of one or more requests as SLS wants them: `Log` entries of a LogGroup (0x0A, length, Log)
/// one after the other, ready to be joined to others of the same stream.
package struct EncodedLogs: Sendable, Equatable {
    package var bytes: [UInt8]
    package var count: Int

    package init(bytes: [UInt8] = [], count: Int = 0) {
        self.bytes = bytes
        self.count = count
    }

    /// Adds one log. For logs that come one at a time; the JSON decoder writes whole requests.
    ///
    /// Fields stand in field-number order, as SLS asks, and an empty value is written, because the
    /// schema requires it. Names that SLS reserves get the prefix that the JSON decoder gives them.
    package mutating func append(
        time: LogTime,
        fields: [(key: String, value: String)]
    ) {
        var log: [UInt8] = [LogTag.time]
        log.append(paddedVarint: time.seconds)
        for (key, value) in fields {
            log.append(
                pairTagged: LogTag.contents,
                key: ReservedKey.storable(key),
                value: value
            )
        }
        if time.nanoseconds > 0 {
            log.append(LogTag.nanoseconds)
            withUnsafeBytes(of: time.nanoseconds.littleEndian) { log.append(contentsOf: $0) }
        }
        bytes.append(GroupTag.logs)
        bytes.append(varint: UInt64(log.count))
        bytes.append(contentsOf: log)
        count += 1
    }
}
