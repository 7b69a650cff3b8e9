import JSON

/// The logs of one accepted request, in the stored form.
struct ReceivedLogs: Sendable {
    struct Entry: Sendable {
        let time: UInt32
        let nanoseconds: UInt32?
        /// The range in `json` of its fields: `{"level":"info"}`.
        let fields: Range<Int>
    }

    var topic = ""
    var source = ""
    /// `"__tag__:env":"prod","__tag__:app":"shop"`, members for a JSON object.
    var tags = JSONWriter()
    var packID: String?
    /// The fields of all logs, one object a line.
    var json = JSONWriter()
    var entries: [Entry] = []
    var rawBytes = 0

    mutating func appendTag(_ name: String, _ value: String) {
        tags.member("__tag__:" + name, value)
        if name == "__pack_id__" { packID = value }
    }

    /// Adds a log with these fields.
    mutating func append(
        time: UInt32,
        nanoseconds: UInt32?,
        _ fields: (inout JSONWriter) -> Void
    ) {
        let start = json.bytes.count
        json.object(fields)
        entries.append(
            Entry(time: time, nanoseconds: nanoseconds, fields: start..<json.bytes.count)
        )
        json.endLine()
    }
}
