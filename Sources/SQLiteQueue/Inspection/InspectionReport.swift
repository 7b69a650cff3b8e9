package import Queue

/// What was found in a queue's database, and what is wrong with it.
package struct InspectionReport: Sendable, Equatable {
    /// What can be wrong; the words are for scripts.
    package enum Fault: String, Sendable, CaseIterable {
        /// SQLite finds its own pages or indexes wrong.
        case structure
        /// Parts of a table cannot be read.
        case unreadable
        case streams
        case packets
        /// Rows that are not what was stored.
        case rows
        case deadLetters = "dead_letters"
        case ledger
        case repeats
    }

    package struct Finding: Sendable, Equatable {
        package let fault: Fault
        package internal(set) var count: Int
        /// A sentence about it, or about the first of several.
        package let text: String
    }

    package let path: String
    package var schema = 0
    package var bytes = 0
    /// Bytes of the log beside it.
    package var logBytes = 0
    package var streams = 0
    package var packets = 0
    package var rows = 0
    package var logs: Int64 = 0
    package var deadLetters = 0
    package var repeats = 0
    package var ledgers: [String: Ledger] = [:]
    package private(set) var findings: [Finding] = []

    package var isFine: Bool { findings.isEmpty }

    init(path: String) {
        self.path = path
    }

    /// One more of a kind: the first is kept with its words, the others are counted.
    mutating func found(_ fault: Fault, _ text: @autoclosure () -> String) {
        if let index = findings.firstIndex(where: { $0.fault == fault }) {
            findings[index].count += 1
        } else {
            findings.append(Finding(fault: fault, count: 1, text: text()))
        }
    }
}
