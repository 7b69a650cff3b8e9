package import JSON
package import Logs
import System

extension JSONWriter {
    /// The members of a log, as a device would send them.
    package mutating func log(_ entry: LogEntry) {
        let nanoseconds = "\(1_000_000_000 + Int(entry.time.nanoseconds))".dropFirst()
        let fraction = entry.time.nanoseconds > 0 ? ".\(nanoseconds)" : ""
        member("__time__", "\(entry.time.seconds)\(fraction)")
        for (key, value) in entry.fields { member(key, value) }
    }
}
