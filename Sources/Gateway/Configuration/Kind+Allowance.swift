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
