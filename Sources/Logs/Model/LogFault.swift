/// Why bytes cannot be read as logs, for the developer who sent them.
package struct LogDecodingError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Decides the status and the code of the answer, which clients go by.
    package enum Kind: Sendable {
        case unreadable
        /// The body, or its logs, exceed a limit.
        case tooLarge
        /// A compressed part is damaged, or has another size than declared.
        case notInflatable
        /// Nothing is wrong with the body; the gateway has no memory for it now.
        case noMemory
    }

    /// The byte of the body where reading ended, from zero.
    package let position: Int
    /// One sentence without anything from the body, so it can be logged.
    package let reason: String
    package let kind: Kind

    package init(position: Int, reason: String, kind: Kind = .unreadable) {
        self.position = position
        self.reason = reason
        self.kind = kind
    }

    package var description: String { "\(reason) (at byte \(position))" }
}

/// Why a log cannot be sent as it is.
package enum LogFault: Sendable, Equatable {
    /// Its time lies further before its arrival than this.
    case tooOld(Duration)
    /// Its time lies further after its arrival than this.
    case tooNew(Duration)
    /// SLS cannot store its time: it has its arrival instead, and its own time as a field.
    case timeOutOfRange
    case valueTooLong(field: String, bytesMax: Int)
    case nameTooLong(bytesMax: Int)
    /// It is text that cannot be read as a log, for this reason, at this byte of its body.
    case unreadable(at: Int, reason: String)
    /// It alone exceeds a packet.
    case logTooLarge(bytesMax: Int)
    /// A step of a filter failed, counted from 0.
    case filterFailed(filter: String, step: Int, reason: String)
    /// No route takes logs of its tag.
    case unrouted(tag: String)
    /// Filters changed its tag more often than this; its tags in order, the first one included.
    case tagLoop(tags: [String], changesMax: Int)

    package var code: String {
        switch self {
        case .tooOld, .tooNew, .timeOutOfRange: "LogTimeInvalid"
        case .valueTooLong: "ValueTooLarge"
        case .nameTooLong: "InvalidKey"
        case .unreadable: "LogUnreadable"
        case .logTooLarge: "LogTooLarge"
        case .filterFailed: "FilterFailed"
        case .tagLoop: "TagLoop"
        case .unrouted: "Unrouted"
        }
    }

    /// One sentence that names the bound.
    package var message: String {
        switch self {
        case .tooOld(let bound):
            "the log's time lies more than \(bound.components.seconds) s before its arrival"
        case .tooNew(let bound):
            "the log's time lies more than \(bound.components.seconds) s after its arrival"
        case .timeOutOfRange: "the log's time lies before 1970 or after 2106"
        case .valueTooLong(let field, let bytesMax):
            "the value of \(field) exceeds \(bytesMax) bytes"
        case .nameTooLong(let bytesMax): "a field's name exceeds \(bytesMax) bytes"
        case .unreadable(let position, let reason): "\(reason) (at byte \(position) of its body)"
        case .logTooLarge(let bytesMax):
            "the log exceeds \(bytesMax) bytes, which is all that one request to SLS can carry"
        case .filterFailed(let filter, let step, let reason):
            "step \(step) of the filter \(filter) failed: \(reason)"
        case .unrouted(let tag): "no route takes the tag \(tag)"
        case .tagLoop(let tags, let changesMax):
            "filters changed the log's tag more than \(changesMax) times: \(tags.joined(separator: " → "))"
        }
    }
}

package struct FaultyLogs: Sendable, Equatable {
    package var logs: EncodedLogs
    package let fault: LogFault

    package init(logs: EncodedLogs, fault: LogFault) {
        self.logs = logs
        self.fault = fault
    }
}
