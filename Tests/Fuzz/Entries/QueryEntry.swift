import System

@testable import Logs

/// Queries of web tracking by GET, and what is percent-encoded in general.
enum QueryEntry: FuzzEntry {
    static let name = "query"
    static let bytesMax = 2048

    static func run(_ query: [UInt8]) throws(Contradiction) {
        let decoder = QueryLogDecoder(limits: Fixed.limits)
        let read = try readTwice(query) { query throws(LogDecodingError) in
            [
                ReadGroup(
                    try decoder.decode(query, leavingOut: "key", Fixed.timing, Fixed.strict)
                )
            ]
        }
        try read.keepsPromises(of: query)
        let pairs = self.pairs(query)
        let written = pairs.map { escaped($0[0]) + [UInt8(ascii: "=")] + escaped($0[1]) }
        let again = self.pairs(Array(written.joined(separator: [UInt8(ascii: "&")])))
        try check(pairs == again, "written anew they are other pairs: \(pairs), \(again)")
        // Decoding of a form and of a path differ in the plus only.
        guard !query.contains(where: { "+&".utf8.contains($0) }),
            let text = percentDecodedText(query[...])
        else { return }
        let value = self.pairs(Array("=".utf8) + query)[0][1]
        try check(value == Array(text.utf8), "one escape, two meanings: \(text)")
    }

    private static func pairs(_ query: [UInt8]) -> [[[UInt8]]] {
        exactly(query) { query in
            var form = FormPairs(query)
            var (name, value): ([UInt8], [UInt8]) = ([], [])
            var pairs: [[[UInt8]]] = []
            while form.next(name: &name, value: &value) != nil { pairs.append([name, value]) }
            return pairs
        }
    }

    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return text.flatMap { [UInt8(ascii: "%"), digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }
}
