import TestSupport

extension [UInt8] {
    private static let tokens = [
        "\r\n", "\n", "\r", "\0", " ", "\t", ":", ";", ",", "0", "f", "chunked",
        "Content-Length: 1\r\n",
        "Transfer-Encoding: chunked\r\n", "Host: b\r\n", "HTTP/1.1", "/", "\u{ff}",
        "xxxxxxxxxxxxxxxx",
        "7fffffffffffffff", "0\r\n\r\n",
    ].map { Array($0.utf8) }

    /// A few bytes flipped, removed, doubled, or replaced by what parsers stumble over.
    func mutated(using random: inout SeededRandom) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            let end = Swift.min(bytes.count, place + Int.random(in: 1...8, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place..<end)
            case 2: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 3: bytes.insert(contentsOf: Self.tokens.randomElement(using: &random)!, at: place)
            default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
        }
        return bytes
    }
}
