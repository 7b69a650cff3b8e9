/// How much may come in a time, on average. All of it may come at once after a silence as long, so `12000/m` allows no
/// more than `200/s` does, but in larger bursts.
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
