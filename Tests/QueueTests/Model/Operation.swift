import Queue

@testable import SQLiteQueue

/// One thing that a device, delivery, an operator or the world does to the queue.
///
/// Each stands alone: what it picks it counts through what is there, from the start again at the
/// end, and where nothing is there it does nothing. So any of them can be left out of a sequence.
enum Operation: Equatable {
    case append([Load])
    /// A device sends a call again.
    case again(call: Int)
    case flush(destination: Int)
    case ask(outlet: Int, count: Int)
    case acknowledge(Int)
    /// SLS refuses a packet for what is in it.
    case refuse(Int)
    /// The operator wants a refused packet dropped.
    case drop(Int)
    case relane(Int)
    case setAside(Int)
    case postpone(Int)
    case read(Int)
    case giveBack(Int)
    case advance(seconds: Int)
    case doHousekeeping
    case replay(letter: Int, count: Int)
    case purge(letter: Int, count: Int)
    case edit(letter: Int, filling: Int)
    case apply(destination: Int, Rules)
    /// The row of a queued log changes on the disk.
    case damage(log: Int)
    /// The disk takes nothing any more, from so many looks at the clock on.
    case fail(after: Int)
    /// The next so many share a transaction, if no other kind of operation comes between.
    case gather(Int)
    case restart
    /// What was not committed is gone.
    case crash
    /// A restart that finds the database damaged and rebuilds it.
    case salvage
}

/// Logs of one call for one stream.
struct Load: Equatable {
    var stream = 0
    var logs = 1
    var filling = 10
    /// Each log of so many has a time that SLS does not take; 0 has none.
    var late = 0
    /// Logs more that are dead on arrival, or dropped.
    var dead = 0
    var dropped = 0
    /// The request may be stored without it.
    var isOptional = false
}

/// What holds for a destination, as numbers.
struct Rules: Equatable {
    var packetLogs = 20
    var packetBytes = 1 << 20
    var packetAge = 3600
    var lanes = 0
    var fresh = 0
    /// 0 has no bound.
    var bytes = 0
    var dropsOldest = false
    var late = LatePolicy.rewrite
    var logstores = 100
    /// Seconds; 0 has the queue's own.
    var age = 0
}

// MARK: - As Swift code

extension Operation {
    /// Can be pasted into a test.
    var code: String { "." + codeOf(self) }
}

/// What Swift prints of enums and structs is the code that makes them, but for the names of
/// modules.
func codeOf(_ value: some Any) -> String {
    var code = String(describing: value)
    for module in ["QueueTests.", "SQLiteQueue.", "Queue."] {
        while let place = code.range(of: module) { code.removeSubrange(place) }
    }
    return code
}

extension String {
    /// Without Foundation, which tests of the queue do not need for anything else.
    fileprivate func range(of part: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(part) {
                return start..<index(start, offsetBy: part.count)
            }
            start = index(after: start)
        }
        return nil
    }
}
