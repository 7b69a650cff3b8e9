import Glibc

extension WallTime {
    /// "2025-01-14T08:30:00.123Z"
    package var rfc3339: String {
        let parts = calendar
        func padded(_ number: some BinaryInteger, _ width: Int) -> String {
            let digits = "\(number)"
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        let date =
            "\(padded(parts.tm_year + 1900, 4))-\(padded(parts.tm_mon + 1, 2))-\(padded(parts.tm_mday, 2))"
        let clock =
            "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
        return "\(date)T\(clock).\(padded(milliseconds % 1000, 3))Z"
    }
}
