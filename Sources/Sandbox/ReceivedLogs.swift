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
    var tags = JSONText()
    var packID: String?
    /// The fields of all logs, one object after the other.
    var json = JSONText()
    var entries: [Entry] = []
    var rawBytes = 0
}
