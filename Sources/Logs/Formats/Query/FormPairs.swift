import System

/// Walks the pairs of a form (URL Standard, section 5.1).
struct FormPairs {
    private let form: UnsafeRawBufferPointer
    private var position = 0

    init(_ form: UnsafeRawBufferPointer) {
        self.form = form
    }

    /// Decodes the next pair, and returns where it starts; nil at the end. A name without an equals
    /// sign has an empty value; nothing between two ampersands is no pair.
    mutating func next(name: inout [UInt8], value: inout [UInt8]) -> Int? {
        while position < form.count {
            let start = position
            let rest = form[start...]
            let end = rest.firstIndex(of: UInt8(ascii: "&")) ?? form.count
            position = end + 1
            guard end > start else { continue }
            let pair = form[start..<end]
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? end
            Self.decode(pair[..<equals], into: &name)
            Self.decode(pair[equals...].dropFirst(), into: &value)
            return start
        }
        return nil
    }

    private static func decode(
        _ text: Slice<UnsafeRawBufferPointer>,
        into decoded: inout [UInt8]
    ) {
        decoded.removeAll(keepingCapacity: true)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "+"): decoded.append(0x20)
            case UInt8(ascii: "%"):
                if text.endIndex - index >= 2, let high = hexValue(text[index]),
                    let low = hexValue(text[index + 1])
                {
                    decoded.append(high << 4 | low)
                    index += 2
                } else {
                    decoded.append(byte)
                }
            default: decoded.append(byte)
            }
        }
    }
}
