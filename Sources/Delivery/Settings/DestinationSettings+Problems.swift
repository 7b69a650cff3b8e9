extension DestinationSettings {
    /// How far SLS's clock may be from the host's.
    static let clockOffsetMax: Duration = .seconds(10 * 365 * 86400)

    /// A setting that cannot work, and why.
    package struct Problem: Sendable, Equatable {
        package let setting: String
        package let reason: String
    }

    /// Everything that is wrong with these settings.
    package var problems: [Problem] {
        var problems: [Problem] =
            switch target {
            case .sls(let target): target.problems
            case .file(let target): target.problems
            // Its parts can have no other form.
            case .http, .stdout: []
            }
        func note(_ setting: String, _ reason: String) {
            problems.append(Problem(setting: setting, reason: reason))
        }
        if !(1...256).contains(concurrency) {
            note("concurrency", "concurrency is \(concurrency); use 1 to 256")
        }
        let timeouts = [
            ("connect_timeout", transport.connectTimeout), ("send_timeout", transport.sendTimeout),
            ("stall_timeout", transport.stallTimeout),
        ]
        for case (let name, let timeout?) in timeouts
        where !(.milliseconds(100) ... .seconds(3600)).contains(timeout) {
            note(name, "\(name) is \(timeout); use 100 milliseconds to 1 hour")
        }
        let clockOffsets = (.zero - Self.clockOffsetMax)...Self.clockOffsetMax
        if !clockOffsets.contains(clockOffset) {
            note("clock_offset", "clock_offset is \(clockOffset); SLS's clock cannot be so far off")
        }
        return problems
    }
}
