import Glibc
import System

extension WallTime {
    /// Parses "2025-01-14T08:30:00Z", also with a fraction or an offset from UTC; nil for any other
    /// form.
    init?(iso8601 text: String) {
        var rest = Array(text.utf8)[...]
        func number(_ digits: Int) -> Int32? {
            guard rest.count >= digits, rest.prefix(digits).allSatisfy({ (48...57).contains($0) })
            else { return nil }
            defer { rest = rest.dropFirst(digits) }
            return rest.prefix(digits).reduce(0) { $0 * 10 + Int32($1 - 48) }
        }
        func take(_ any: String) -> UInt8? {
            guard let next = rest.first, any.utf8.contains(next) else { return nil }
            rest = rest.dropFirst()
            return next
        }
        guard let year = number(4), year >= 1970, take("-") != nil,
            let month = number(2), (1...12).contains(month), take("-") != nil,
            let day = number(2), (1...31).contains(day), take("Tt ") != nil,
            let hour = number(2), hour < 24, take(":") != nil,
            let minute = number(2), minute < 60, take(":") != nil,
            let second = number(2), second <= 60
        else { return nil }
        if take(".") != nil {
            guard number(1) != nil else { return nil }
            while number(1) != nil {}
        }
        var offset: Int32 = 0
        if take("Zz") == nil {
            guard let sign = take("+-"), let hours = number(2), take(":") != nil,
                let minutes = number(2)
            else { return nil }
            offset = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -60 : 60)
        }
        guard rest.isEmpty else { return nil }
        var parts = tm()
        parts.tm_year = year - 1900
        parts.tm_mon = month - 1
        parts.tm_mday = day
        parts.tm_hour = hour
        parts.tm_min = minute
        parts.tm_sec = second
        self.init(seconds: Int64(timegm(&parts)) - Int64(offset))
    }

    /// "2025-01-14T08:30:00Z", in STS's form.
    var iso8601: String { "\(rfc3339.prefix(19))Z" }
}
