import System

extension Kind<Allowance> {
    private static let amountMax = 1 << 40

    /// Requests in a time.
    static var rate: Kind {
        allowance(like: "200/s") { Int($0) }
    }

    static var byteRate: Kind {
        allowance(like: "2MiB/s") { byteSize($0) }
    }

    private static func allowance(
        like example: String,
        _ amount: @escaping @Sendable (String) -> Int?
    ) -> Kind {
        Kind(wants: "a rate such as \(example)") { text throws(Mismatch) in
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2,
                let period = Allowance.Period.allCases.first(where: { $0.unit == parts[1] }),
                // "+5" is a number for Swift.
                parts[0].first?.isNumber == true, let count = amount(String(parts[0]))
            else {
                throw Mismatch(
                    "\(quoted(text)) is not a rate; write one such as \(example), or with /m or /h "
                        + "for minutes or hours"
                )
            }
            guard (1...amountMax).contains(count) else {
                throw Mismatch("\(text) allows nothing, or more than can be counted")
            }
            return Allowance(count, per: period)
        }
    }
}

extension Kind<Int> {
    /// A pace that is judged from second to second, and so has no other unit.
    static func bytesPerSecond(_ range: ClosedRange<Int>) -> Kind {
        Kind(wants: "a rate such as 1KiB/s") { text throws(Mismatch) in
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[1] == "s", let bytes = byteSize(String(parts[0])) else {
                throw Mismatch("\(quoted(text)) is not a rate; write one such as 1KiB/s")
            }
            guard range.contains(bytes) else {
                throw Mismatch(
                    "\(text) is not between \(sizeText(range.lowerBound))/s and "
                        + "\(sizeText(range.upperBound))/s"
                )
            }
            return bytes
        }
    }
}
