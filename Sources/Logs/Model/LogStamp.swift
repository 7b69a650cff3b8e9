/// Fields for logs that are encoded already, and names that these may not have: encoded once, copied into each log.
package struct LogStamp: Sendable {
    private let fields: AddedFields

    /// Logs' own fields with the names of these, or with other names that are withheld, are removed.
    package init(_ fields: [(key: String, value: String)], withholding names: [String]) {
        self.fields = AddedFields(fields, replacing: names)
    }

    /// The stamped logs, and how many fields of their own were removed; nil when they could exceed `bytesMax`.
    package func applied(
        to logs: DecodedLogs,
        atMost bytesMax: Int
    ) -> (logs: DecodedLogs, removed: Int)? {
        var fields = fields
        guard let stamped = logs.adding(&fields, toFirst: .max, atMost: bytesMax) else {
            return nil
        }
        return (stamped, fields.replacedCount)
    }
}
