/// How much of a quota was used in real time, and the part of requests that was refused for it.
struct QuotaUse {
    let used: Double
    let refused: Double

    private var isGood: Bool { used > 0.85 && refused > 0 && refused < 0.10 }

    /// The first good one of three, or the last: on a machine that stands still for a second any
    /// sender wastes what a quota gives meanwhile.
    static func good(_ attempt: () throws -> QuotaUse) rethrows -> QuotaUse {
        for _ in 0..<2 {
            let use = try attempt()
            if use.isGood { return use }
        }
        return try attempt()
    }
}
