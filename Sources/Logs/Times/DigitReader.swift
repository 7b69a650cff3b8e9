/// Parses a text of digits from its start.
struct DigitReader {
    private let text: UnsafeBufferPointer<UInt8>
    private var place = 0

    init(_ text: UnsafeBufferPointer<UInt8>) { self.text = text }

    var isAtEnd: Bool { place == text.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard place < text.count, text[place] == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    mutating func digit() -> Int? {
        guard place < text.count, text[place] &- 0x30 < 10 else { return nil }
        place += 1
        return Int(text[place - 1] - 0x30)
    }

    /// The number of the name that comes next, in letters of either case.
    mutating func name(of names: [String]) -> Int? {
        for (number, name) in names.enumerated() where name.utf8.count <= text.count - place {
            let here = UnsafeBufferPointer(rebasing: text[place..<place + name.utf8.count])
            guard zip(here, name.utf8).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else { continue }
            place += name.utf8.count
            return number
        }
        return nil
    }

    /// Exactly so many digits.
    mutating func number(_ count: Int) -> Int? {
        var number = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// One digit or more behind a point, in nanoseconds.
    mutating func fraction() -> Int? {
        guard var fraction = digit() else { return nil }
        var scale = 1
        while let digit = digit() {
            guard scale < 9 else { continue }
            fraction = fraction * 10 + digit
            scale += 1
        }
        for _ in scale..<9 { fraction *= 10 }
        return fraction
    }

    /// `08:30:00.5`; if short, also `08:30` and `08`.
    mutating func timeOfDay(_ short: Bool) -> (seconds: Int, nanoseconds: Int)? {
        guard let hour = number(2), hour < 24 else { return nil }
        guard take(":") else { return short ? (hour * 3600, 0) : nil }
        guard let minute = number(2), minute < 60 else { return nil }
        let start = hour * 3600 + minute * 60
        guard take(":") else { return short ? (start, 0) : nil }
        // A leap second, 60, counts as the second after it.
        guard let second = number(2), second <= 60 else { return nil }
        guard take(".") else { return (start + second, 0) }
        return fraction().map { (start + second, $0) }
    }

    /// `Z` or `+08:00`, in seconds east of UTC; if short, also `+0800`, `+08` and nothing.
    mutating func zone(_ short: Bool) -> Int? {
        if short, isAtEnd { return 0 }
        if take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+"), let hours = number(2), hours < 24 else { return nil }
        let isHours = short && isAtEnd
        guard isHours || take(":") || short, let minutes = isHours ? 0 : number(2), minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
    }
}
