import SQLite
import System

/// What is known of the clocks that stamped what is stored.
struct AgeBasis: Equatable {
    /// What has a number up to this one has the stamps of another clock.
    var inherited: Int64 = 0
    /// When this clock began to count.
    var since = WallTime(nanoseconds: 0)
    /// By how much the clock was stepped forward since what has a number up to `steppedThrough` was stamped, in
    /// this life or an earlier one.
    var stepped = Duration.zero
    var steppedThrough: Int64 = 0

    /// A clock that was stepped to and fro; nothing is older than all times that can be told.
    private static let steppedMax = Duration.nanoseconds(Int64.max)

    mutating func step(by step: Duration) {
        stepped = min(stepped + step, Self.steppedMax)
        steppedThrough = inherited
    }

    /// From when the age of something counts that has a stamp of another clock.
    func begin(_ received: WallTime, number: Int64) -> WallTime {
        let step = number <= steppedThrough ? stepped : .zero
        // Their sum may be beyond all times.
        return received < since && since - received > step ? received + step : since
    }
}

// MARK: - On the disk

extension AgeBasis {
    private static let steppedSetting = "clock_stepped"
    private static let throughSetting = "clock_stepped_through"

    /// What an earlier life left of it.
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
