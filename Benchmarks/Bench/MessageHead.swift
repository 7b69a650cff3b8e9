/// What the benchmark's sink and load must know of an HTTP message.
struct MessageHead {
    /// Behind the empty line.
    let end: Int
    private(set) var bodyBytes = 0
    private(set) var closes = false
    /// The status, if it is a response.
    private(set) var status = 0

    /// nil while the head has no end yet.
    init?(of bytes: [UInt8]) {
        guard let end = Self.end(in: bytes) else { return nil }
        self.end = end
        if bytes.count > 12 { status = Self.number(bytes[9..<12]) }
        var start = 0
        for at in 0..<end where bytes[at] == 10 {
            let line = bytes[start..<at]
            if let value = Self.value(of: "content-length:", in: line) {
                bodyBytes = Self.number(value)
            } else if let value = Self.value(of: "connection:", in: line) {
                closes = value.first { $0 != 0x20 }.map { $0 | 0x20 } == UInt8(ascii: "c")
            }
            start = at + 1
        }
    }

    private static func end(in bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for end in 4...bytes.count
        where bytes[end - 1] == 10 && bytes[end - 2] == 13 && bytes[end - 3] == 10 {
            return end
        }
        return nil
    }

    private static func value(
        of name: StaticString,
        in line: ArraySlice<UInt8>
    ) -> ArraySlice<UInt8>? {
        let count = name.utf8CodeUnitCount
        guard line.count > count else { return nil }
        for at in 0..<count where line[line.startIndex + at] | 0x20 != name.utf8Start[at] | 0x20 {
            return nil
        }
        return line.dropFirst(count)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int {
        digits.reduce(0) { (0x30...0x39).contains($1) ? $0 * 10 + Int($1 & 15) : $0 }
    }
}
