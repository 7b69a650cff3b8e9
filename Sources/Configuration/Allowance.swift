import System

/// How much may come in a time, on average. All of it may come at once after a silence as long, so
/// `12000/m` allows no more than `200/s` does, but in larger bursts.
package struct Allowance: Sendable, Equatable {
    package enum Period: Int64, Sendable, CaseIterable {
        case second = 1
        case minute = 60
        case hour = 3600

        package var unit: String {
            switch self {
            case .second: "s"
            case .minute: "m"
            case .hour: "h"
            }
        }
    }

    package let amount: Int
    package let period: Period

    package init(_ amount: Int, per period: Period = .second) {
        precondition(amount > 0)
        self.amount = amount
        self.period = period
    }
}

extension Allowance {
    private static let amountMax = 1 << 40

    /// Requests in a time.
    static var requests: Kind<Allowance> {
        kind(like: "200/s", .rate(ofBytes: false, units: "smh")) { Int($0) }
    }

    static var bytes: Kind<Allowance> {
        kind(like: "2MiB/s", .rate(ofBytes: true, units: "smh")) { byteSize($0) }
    }

    private static func kind(
        like example: String,
        _ shape: SettingShape,
        _ amount: @escaping @Sendable (String) -> Int?
    ) -> Kind<Allowance> {
        Kind(wants: "a rate such as \(example)", shape) { text throws(Mismatch) in
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
