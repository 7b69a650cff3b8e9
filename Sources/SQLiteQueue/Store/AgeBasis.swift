import SQLite
import System

/// The clocks behind the stored time stamps.
struct AgeBasis: Equatable {
    /// The stamps of numbers up to this one come from another clock.
    var inherited: Int64 = 0
    /// The time at which the present clock began to count.
    var since = WallTime(nanoseconds: 0)
    /// The sum of forward steps of the clock since the numbers up to `steppedThrough` were stamped,
    /// in this process or an earlier one.
    var stepped = Duration.zero
    var steppedThrough: Int64 = 0

    /// The bound of the sum for a clock that is stepped back and forth. No age is greater than the
    /// range of time stamps.
    private static let steppedMax = Duration.nanoseconds(Int64.max)

    mutating func step(by step: Duration) {
        stepped = min(stepped + step, Self.steppedMax)
        steppedThrough = inherited
    }

    /// The time at which an age begins if its stamp comes from another clock.
    func begin(_ received: WallTime, number: Int64) -> WallTime {
        let step = number <= steppedThrough ? stepped : .zero
        // The sum could exceed the range of time stamps.
        return received < since && since - received > step ? received + step : since
    }
}

// MARK: - On the disk

extension AgeBasis {
    private static let steppedSetting = "clock_stepped"
    private static let throughSetting = "clock_stepped_through"

    /// Reads the basis that an earlier process saved.
    init(_ database: QueueDatabase) throws(SQLiteError) {
        let seconds = try database.settings.integer(Self.steppedSetting)
        stepped = min(max(.zero, .seconds(seconds)), Self.steppedMax)
        steppedThrough = max(0, try database.settings.integer(Self.throughSetting))
    }

    func save(in database: QueueDatabase) throws(SQLiteError) {
        try database.write()
        try database.settings.save(stepped.components.seconds, as: Self.steppedSetting)
        try database.settings.save(steppedThrough, as: Self.throughSetting)
    }
}
