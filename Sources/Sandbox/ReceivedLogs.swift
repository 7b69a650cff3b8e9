/// The logs of one accepted request, in the form in which they are kept and shown.
struct ReceivedLogs: Sendable {
    struct Entry: Sendable {
        let time: UInt32
        let nanoseconds: UInt32?
        /// Where in `json` its fields stand: `{"level":"info"}`.
        let fields: Range<Int>
    }

    var topic = ""
    var source = ""
    /// `"__tag__:env":"prod","__tag__:app":"shop"`, ready to be put into an object.
    var tags = JSONText()
    var packID: String?
    /// The fields of all logs, one object after the other.
    var json = JSONText()
    var entries: [Entry] = []
    var rawBytes = 0
}
