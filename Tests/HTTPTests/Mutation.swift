/// splitmix64: the same numbers for the same seed.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}

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
