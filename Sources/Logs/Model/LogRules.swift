/// The treatment of logs that SLS would refuse, each with its whole packet. It differs from
/// destination to destination, so it comes with each body.
package struct LogRules: Sendable, Equatable {
    /// The treatment of a log whose own time lies outside the window.
    package enum Late: Sendable {
        /// It gets its arrival as time, and keeps its own as the field `__original_time__`.
        case rewrite
        case drop
        /// It is kept with its own time, apart from the others.
        case setAside
    }

    /// The treatment of a log with a name or a value that is too long.
    package enum Oversize: Sendable {
        case keep
        /// The name or value is cut, and the field `__truncated__` says so.
        case cut
        /// It is kept whole, apart from the others.
        case setAside
    }

    /// The treatment of damaged JSON: bad UTF-8, raw control characters, logs that are not JSON.
    package enum Damage: Sendable {
        case refuse
        /// Bytes are replaced. Logs that stay unreadable are kept as text, apart from the others.
        case setAside
    }

    /// Nil believes every device.
    package var times: TimeWindow?
    package var late: Late
    package var oversize: Oversize
    package var damage: Damage

    package init(
        times: TimeWindow? = nil,
        late: Late = .rewrite,
        oversize: Oversize = .cut,
        damage: Damage = .refuse
    ) {
        self.times = times
        self.late = late
        self.oversize = oversize
        self.damage = damage
    }
}

/// The most that the body of one request may contain, whatever its format. These are SLS's own
/// limits where it has them: a log beyond them would make SLS refuse its whole packet.
package struct LogLimits: Sendable, Equatable {
    // MARK: - Logs

    /// Logs in one body. SLS has no number any more; its Python SDK stops at 512,000.
    package var logs = 1 << 19
    /// Fields of one log. Each name is compared with those before it, which costs ten times as much
    /// beyond a processor's caches. Elasticsearch takes 1000 by default, and OpenTelemetry's SDKs
    /// write 128.
    package var fields = 8192
    /// The bytes of a field's name. The rules say what becomes of a longer one.
    package var keyBytes = FieldName.bytesMax
    /// The bytes of a field's value, likewise.
    package var valueBytes = 1 << 20
    /// Objects and arrays inside each other, the outermost included; 64 at most.
    package var depth = 64

    // MARK: - Damaged bodies

    /// The bytes that may be added to a body where damaged ones are replaced.
    package var repairBytes = 10 << 20
    /// Texts of one body that cannot be read as logs: each becomes a dead letter, a row of its own.
    package var unreadable = 1000
    /// The bytes of one such text. It is kept whole or not at all.
    package var unreadableBytes = 256 << 10

    // MARK: - Streams

    package var packages = 1024
    /// Streams with different labels, or events of different origins, of one body.
    package var streams = 8192
    /// Labels that the streams with different labels of one body have together: 16 for each stream,
    /// which is one more than Loki takes by default.
    package var labels = 1 << 17
    /// Streams that one body's logs become with their tags; further logs have the tags as fields.
    package var batches = 1024

    // MARK: - Topic, source, tags

    package var topicBytes = 128
    package var sourceBytes = 128
    /// Tags of a stream, and their bytes, which each packet repeats. Further tags become fields.
    package var tags = 128
    package var tagsBytes = 8 << 10
    /// Tags of one request that are kept at all.
    package var tagsGathered = 1024

    package init() {}

    // MARK: - Refusals of all formats

    static func tooManyLogs(_ limit: Int) -> String {
        "the body has more than \(limit) logs; send smaller batches"
    }

    static func tooManyFields(_ limit: Int) -> String {
        "a log has more than \(limit) different fields (limits.log_fields)"
    }
}
