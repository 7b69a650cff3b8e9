/// Where an object that was cut off inside its array of logs can be ended, so that the logs before
/// are read.
///
/// Only quotes, brackets and commas are looked at. A string that lost its quote reaches to the next
/// one, so what lies behind it may look cut off, too.
struct JSONCut {
    /// Behind the array's last whole element.
    let end: Int
    /// Where the element starts that has no end; the text's length without one.
    let rest: Int

    /// Nil when the object has no such array, or the array has its end, or not one whole element.
    init?(_ text: UnsafeBufferPointer<UInt8>, array name: StaticString) {
        var (position, depth) = (0, 0)
        var isInArray = false
        var lastString = 0..<0
        var (wholeEnd, element): (Int?, Int?) = (nil, nil)
        while position < text.count {
            let byte = text[position]
            if isInArray, depth == 2, byte > 0x20, byte != UInt8(ascii: ","), element == nil {
                element = position
            }
            switch byte {
            case UInt8(ascii: "\""):
                let start = position + 1
                position = Self.endOfString(text, start)
                lastString = start..<position
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if depth == 1, byte == UInt8(ascii: "["), !isInArray {
                    isInArray = name ~= UnsafeBufferPointer(rebasing: text[lastString])
                }
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                guard depth > 0, !isInArray || depth > 1 else { return nil }
                if isInArray, depth == 2 { (wholeEnd, element) = (position + 1, nil) }
            case UInt8(ascii: ",") where isInArray && depth == 2:
                if element != nil { (wholeEnd, element) = (position, nil) }
            default: break
            }
            position += 1
        }
        guard let wholeEnd else { return nil }
        (end, rest) = (wholeEnd, element ?? text.count)
    }

    /// The position of its last quote, or the text's length.
    private static func endOfString(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        var position = start
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            position += text[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(position, text.count)
    }
}
