/// Texts that are put together before it is known where they belong, one behind the other in one
/// memory. The caller who adds a text remembers its range.
///
/// The memory has a bound, since a text may become six times its size in the body. A text that
/// would exceed it is not added, and the user of the texts asks for `isExceeded`.
struct TextMemory: ~Copyable {
    private var memory = RawMemory(capacity: 4 << 10)
    private(set) var count = 0
    private var bytesMax = Int.max
    /// The bytes that fit without growing.
    private var limit: Int
    /// True when a text was not added.
    private(set) var isExceeded = false

    init() {
        limit = memory.capacity
    }

    func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: memory.start + range.lowerBound, count: range.count)
    }

    mutating func start(atMost bytesMax: Int) {
        count = 0
        self.bytesMax = bytesMax
        limit = min(memory.capacity, bytesMax)
        isExceeded = false
    }

    /// Forgets the texts behind the first `count` bytes.
    mutating func cut(to count: Int) {
        self.count = min(count, self.count)
    }

    /// Forgets everything, and gives back the memory that large texts needed.
    mutating func shrink(to bytes: Int = RawMemory.keptBytes) {
        count = 0
        memory.shrink(to: bytes)
        limit = min(memory.capacity, bytesMax)
    }

    mutating func append(_ byte: UInt8) {
        guard let out = room(1) else { return }
        out[0] = byte
        count += 1
    }

    mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard let start = text.baseAddress, let out = room(text.count) else { return }
        out.update(from: start, count: text.count)
        count += text.count
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Room for so many bytes; nil when they are too many.
    @inline(__always)
    private mutating func room(_ bytes: Int) -> UnsafeMutablePointer<UInt8>? {
        if bytes > limit - count, !grow(by: bytes) { return nil }
        return memory.start + count
    }

    @inline(never)
    private mutating func grow(by bytes: Int) -> Bool {
        guard bytes <= bytesMax - count else {
            isExceeded = true
            return false
        }
        let wanted = count + bytes
        memory.grow(to: max(wanted, min(wanted + wanted / 2, bytesMax)), keeping: count)
        limit = min(memory.capacity, bytesMax)
        return true
    }

    /// Adds the bytes that `fill` wrote, and counted, `most` at most.
    @inline(__always)
    mutating func append(most: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Int) {
        guard let out = room(most) else { return }
        count += fill(out)
    }

    /// Copies the text with U+FFFD in place of bytes that are not UTF-8; nil when there are none.
    mutating func repair(_ range: Range<Int>) -> Range<Int>? {
        guard !text(range).isUTF8 else { return nil }
        let start = count
        // In steps, since the room that a step may need counts against the bound.
        var source = 0
        while source < range.count {
            let (first, last) = (source, min(source + 4096, range.count))
            let written = count
            // The last character may reach beyond the step: four bytes where one was counted.
            append(most: UTF8Sequence.growth * (last - first) + 1) { out in
                // The memory may have moved to make room.
                let text = UnsafeBufferPointer(
                    start: UnsafePointer(out - written + range.lowerBound),
                    count: range.count
                )
                return UTF8Sequence.repair(text, &source, upTo: last, to: out)
            }
            guard source > first else { break }
        }
        return start..<count
    }

    // MARK: - JSON strings, hexadecimal digits, base64

    /// A text as a JSON string, quotes included. Bytes that are not UTF-8 stay as they are.
    mutating func append(quoted text: UnsafeBufferPointer<UInt8>) {
        append("\"")
        var plain = 0
        for index in text.indices where text[index].needsJSONEscape {
            append(UnsafeBufferPointer(rebasing: text[plain..<index]))
            append(escaped: text[index])
            plain = index + 1
        }
        append(UnsafeBufferPointer(rebasing: text[plain...]))
        append("\"")
    }

    private mutating func append(escaped byte: UInt8) {
        append("\\")
        switch byte {
        case 0x08: append("b")
        case 0x09: append("t")
        case 0x0A: append("n")
        case 0x0C: append("f")
        case 0x0D: append("r")
        case ..<0x20:
            append("u00")
            append(.hexDigit(byte >> 4))
            append(.hexDigit(byte & 15))
        default: append(byte)
        }
    }

    /// The name of a JSON object's member, with its colon.
    mutating func append(name: UnsafeBufferPointer<UInt8>) {
        append(quoted: name)
        append(":")
    }

    mutating func append(hex bytes: UnsafeBufferPointer<UInt8>) {
        for byte in bytes {
            append(.hexDigit(byte >> 4))
            append(.hexDigit(byte & 15))
        }
    }

    /// Without zeros in front.
    mutating func append(hex number: UInt32) {
        var shift = max(0, 28 - number.leadingZeroBitCount & ~3)
        while shift >= 0 {
            append(.hexDigit(UInt8(truncatingIfNeeded: number >> UInt32(shift)) & 15))
            shift -= 4
        }
    }

    /// RFC 4648, section 4.
    mutating func append(base64 bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < bytes.count {
            let known = min(3, bytes.count - index)
            var word: UInt32 = 0
            for offset in 0..<3 {
                word = word << 8 | (offset < known ? UInt32(bytes[index + offset]) : 0)
            }
            for digit in 0..<4 {
                let value = UInt8(truncatingIfNeeded: word >> UInt32(18 - 6 * digit)) & 63
                append(digit <= known ? Self.base64Digit(value) : UInt8(ascii: "="))
            }
            index += 3
        }
    }

    private static func base64Digit(_ value: UInt8) -> UInt8 {
        switch value {
        case ..<26: UInt8(ascii: "A") + value
        case ..<52: UInt8(ascii: "a") + value - 26
        case ..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }

    mutating func append(decimal number: UInt64) {
        append(most: 20) { out in
            var size = 1
            var rest = number / 10
            while rest > 0 {
                size += 1
                rest /= 10
            }
            rest = number
            for index in stride(from: size - 1, through: 0, by: -1) {
                out[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            return size
        }
    }

    mutating func append(decimal number: Int64) {
        if number < 0 { append("-") }
        append(decimal: number.magnitude)
    }

    /// As JavaScript, and so JSON, writes numbers (ECMA-262, Number::toString): the fewest digits
    /// that give the number back, with an exponent for the very large and the very small only. What
    /// JSON has no numbers for is `NaN`, `Infinity` and `-Infinity`, as protobuf's JSON calls it.
    mutating func append(_ number: Double) {
        guard !number.isNaN else { return append("NaN") }
        if number.sign == .minus { append("-") }
        guard number.isFinite else { return append("Infinity") }
        // The shortest digits are Swift's to find; it only lays them out differently.
        var text = number.magnitude.description
        text.withUTF8 { text in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count + 1) { room in
                let digits = DecimalDigits(text, in: room)
                append(
                    UnsafeBufferPointer(rebasing: room[..<digits.end]),
                    point: digits.point
                )
            }
        }
    }

    /// Quoted where JSON has no such number.
    mutating func append(json number: Double) {
        guard !number.isFinite else { return append(number) }
        append("\"")
        append(number)
        append("\"")
    }

    private mutating func append(_ digits: UnsafeBufferPointer<UInt8>, point: Int) {
        let count = digits.count
        switch point {
        case count...21:
            append(digits)
            appendZeros(point - count)
        case 1...21:
            append(UnsafeBufferPointer(rebasing: digits[..<point]))
            append(".")
            append(UnsafeBufferPointer(rebasing: digits[point...]))
        case -5...0:
            append("0.")
            appendZeros(-point)
            append(digits)
        default:
            append(digits[0])
            if count > 1 {
                append(".")
                append(UnsafeBufferPointer(rebasing: digits[1...]))
            }
            append(point > 0 ? "e+" : "e-")
            append(decimal: UInt64((point - 1).magnitude))
        }
    }

    private mutating func appendZeros(_ count: Int) {
        for _ in 0..<count { append("0") }
    }
}

/// The digits of a number without zeros around them, and how many of them stand before the point.
private struct DecimalDigits {
    /// How many there are, from the beginning of the room.
    private(set) var end = 0
    private(set) var point = 0

    /// From Swift's own form: `0.001`, `120.0`, `1.5e+20`. The room is larger than the text.
    init(_ text: UnsafeBufferPointer<UInt8>, in room: UnsafeMutableBufferPointer<UInt8>) {
        var position = 0
        var hasPoint = false
        while position < text.count, text[position] != UInt8(ascii: "e") {
            let byte = text[position]
            position += 1
            if byte == UInt8(ascii: ".") {
                hasPoint = true
            } else if byte != UInt8(ascii: "0") || end > 0 {
                room[end] = byte
                end += 1
                if !hasPoint { point += 1 }
            } else if hasPoint {
                point -= 1
            }
        }
        while end > 0, room[end - 1] == UInt8(ascii: "0") { end -= 1 }
        guard end > 0 else {
            room[0] = UInt8(ascii: "0")
            (end, point) = (1, 1)
            return
        }
        var power = 0
        var isNegative = false
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "e"), UInt8(ascii: "+"): break
            default: power = power * 10 + Int(text[position] - UInt8(ascii: "0"))
            }
            position += 1
        }
        point += isNegative ? -power : power
    }
}
