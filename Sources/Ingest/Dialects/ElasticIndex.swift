import System

/// An index that a request names, and the outcome of its documents.
struct ElasticIndex: Sendable {
    let name: String
    /// nil: the documents are accepted.
    let refusal: Refusal?

    init(_ name: String, _ refusal: Refusal?) {
        (self.name, self.refusal) = (name, refusal)
    }

    /// Decodes an index in a path.
    static func name(_ text: ArraySlice<UInt8>) throws(Refusal) -> String {
        guard let name = percentDecodedText(text), TagText.isSound(name) else { throw .badIndex }
        return name
    }

    /// The name without a date at its end: clients start a new index each day, and logstores expire
    /// by themselves.
    static func tag(of index: String) -> String {
        let name = Array(index.utf8)
        for date in IndexDate.all {
            guard let start = date.start(in: name) else { continue }
            return String(decoding: name[..<start], as: UTF8.self)
        }
        return index
    }
}

/// A format of dates that clients append to an index name.
struct IndexDate {
    /// The longest first.
    static let all = [
        // Elasticsearch's own counter, after a rollover.
        IndexDate("-dddd.dd.dd-dddddd", .any, .month, .day, .any),
        IndexDate("-dddd.dd-dddddd", .any, .week, .any),
        IndexDate("-dddd.dd.dd.dd", .any, .month, .day, .hour),
        IndexDate("-dddd.dd.dd", .any, .month, .day),
        // A month or a week.
        IndexDate("-dddd.dd", .any, .week),
    ]

    private enum Number {
        case any, month, week, day, hour

        func contains(_ number: Int) -> Bool {
            switch self {
            case .any: true
            case .month: 1...12 ~= number
            case .week: 1...53 ~= number
            case .day: 1...31 ~= number
            case .hour: 0...23 ~= number
            }
        }
    }

    /// A `d` stands for a digit; other characters separate.
    private let pattern: [UInt8]
    private let numbers: [Number]

    private init(_ pattern: String, _ numbers: Number...) {
        (self.pattern, self.numbers) = (Array(pattern.utf8), numbers)
    }

    /// Where the date begins, after a name that is not empty.
    func start(in name: [UInt8]) -> Int? {
        let start = name.count - pattern.count
        guard start > 0 else { return nil }
        var (index, number) = (-1, 0)
        for (byte, kind) in zip(name[start...], pattern) {
            if kind == UInt8(ascii: "d") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                number = number * 10 + Int(byte & 15)
            } else {
                guard Self.separates(byte, kind) else { return nil }
                guard index < 0 || numbers[index].contains(number) else { return nil }
                (index, number) = (index + 1, 0)
            }
        }
        return numbers[index].contains(number) ? start : nil
    }

    private static func separates(_ byte: UInt8, _ kind: UInt8) -> Bool {
        byte == kind || byte == UInt8(ascii: "-")
            || kind == UInt8(ascii: "-") && (byte == UInt8(ascii: "_") || byte == UInt8(ascii: "."))
    }
}
