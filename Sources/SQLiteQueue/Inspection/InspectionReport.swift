package import Queue

/// The content of a queue's database, and its faults.
package struct InspectionReport: Sendable, Equatable {
    /// The kinds of faults. Scripts read these words.
    package enum Fault: String, Sendable, CaseIterable {
        /// SQLite's check complains of pages or indexes.
        case structure
        /// Parts of a table are unreadable.
        case unreadable
        case streams
        case packets
        /// Rows differ from the content that was stored.
        case rows
        case deadLetters = "dead_letters"
        case ledger
        case repeats
    }

    package struct Finding: Sendable, Equatable {
        package let fault: Fault
        package internal(set) var count: Int
        /// A sentence about the fault. If there are several of the kind, it describes the first
        /// one.
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
    package var intake = IntakeTally()
    package private(set) var findings: [Finding] = []

    package var isFine: Bool { findings.isEmpty }

    init(path: String) {
        self.path = path
    }

    /// Adds a fault. The first one of a kind keeps its text; further ones are only counted.
    mutating func found(_ fault: Fault, _ text: @autoclosure () -> String) {
        if let index = findings.firstIndex(where: { $0.fault == fault }) {
            findings[index].count += 1
        } else {
            findings.append(Finding(fault: fault, count: 1, text: text()))
        }
    }
}
