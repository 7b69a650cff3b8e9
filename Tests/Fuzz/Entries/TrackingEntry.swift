import Logs

/// Bodies of web tracking.
enum TrackingEntry: FuzzEntry {
    static let name = "tracking"

    /// The sandbox takes what is repeated, and reads one level deeper.
    private static let stricter = [
        "__logs__ may occur only once", "__tags__ may occur only once",
        "objects and arrays are nested deeper than 64",
    ]

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        for (hasParts, rules) in [
            (false, Fixed.strict), (true, Fixed.strict), (true, Fixed.mending),
        ] {
            let read = try readTwice(body) { body throws(LogDecodingError) in
                let tracked = try decoder.decodeTracking(
                    body,
                    Fixed.timing,
                    rules,
                    timeParts: hasParts
                )
                return [ReadGroup(tracked)]
            }
            try read.keepsPromises(of: body)
        }
        guard let count = SandboxReading.trackedCount(body) else { return }
        let larger = JSONLogDecoder()
        let read = Beyond.tempting.padded(body) { body in
            Result { () throws(LogDecodingError) in
                try larger.decodeTracking(body, Fixed.timing)
            }
        }
        switch read {
        case .success(let tracked):
            try check(tracked.logs.count == count, "\(tracked.logs.count) logs, not \(count)")
        case .failure(let error):
            try check(stricter.contains(error.reason), "refused, where others see logs: \(error)")
        }
    }
}
