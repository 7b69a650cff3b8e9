package import Logs

/// What a request tells about its sender, for templates. Encoded once a request.
package struct SenderText: Sendable {
    let clientIP: [UInt8]
    let key: [UInt8]
    let receipt: [UInt8]

    package init(clientIP: String = "", key: String = "", receipt: String = "") {
        self.clientIP = Array(clientIP.utf8)
        self.key = Array(key.utf8)
        self.receipt = Array(receipt.utf8)
    }
}

/// What became of logs. Their number is that of all logs in groups, of dead ones, and of those that are gone.
package struct FilteredLogs {
    /// In the order of their first logs. Logs of one group keep their order.
    package var groups: [(plan: TagPlan, logs: EncodedLogs)] = []
    /// Logs on which a step of a filter with `on_error: dead_letter` failed, and logs whose tag changes too often.
    package var dead: [(plan: TagPlan, logs: FaultyLogs)] = []
    package var dropped = 0
    package var sampledOut = 0

    init(groups: [(plan: TagPlan, logs: EncodedLogs)] = []) {
        self.groups = groups
    }
}

extension FilteredLogs {
    /// Logs of one fault stand together where they come soon after each other.
    mutating func addDead(
        _ entry: UnsafeBufferPointer<UInt8>,
        _ plan: TagPlan,
        _ fault: LogFault
    ) {
        for index in dead.indices.suffix(8)
        where dead[index].plan === plan && dead[index].logs.fault == fault {
            dead[index].logs.logs.bytes.append(contentsOf: entry)
            dead[index].logs.logs.count += 1
            return
        }
        let logs = EncodedLogs(bytes: Array(entry), count: 1)
        dead.append((plan, FaultyLogs(logs: logs, fault: fault)))
    }
}
