/// Parses a size: "4GiB", "512KiB", "10MB", "100B", or a plain number of bytes.
package func byteSize(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int(digits) else { return nil }
    let scales: [String: Int] = [
        "": 1, "B": 1,
        "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
        "KB": 1000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
    ]
    guard let scale = scales[String(text.dropFirst(digits.count))] else { return nil }
    let (size, overflows) = number.multipliedReportingOverflow(by: scale)
    return overflows ? nil : size
}

/// Parses "500ms", "1s", "10m", "2h", "7d", or a sum such as "1h30m". Only "0" needs no unit.
package func timeSpan(_ text: String) -> Duration? {
    if text == "0" { return .zero }
    let units: [String: Int64] = ["ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
    var rest = text[...]
    var total: Int64 = 0
    guard !rest.isEmpty else { return nil }
    while !rest.isEmpty {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        rest = rest.dropFirst(digits.count)
        let unit = rest.prefix { $0.isASCII && $0.isLetter }
        rest = rest.dropFirst(unit.count)
        guard let number = Int64(digits), let scale = units[String(unit)] else { return nil }
        let (part, overflows) = number.multipliedReportingOverflow(by: scale)
        let (sum, sumOverflows) = total.addingReportingOverflow(part)
        guard !overflows, !sumOverflows else { return nil }
        total = sum
    }
    return .milliseconds(total)
}

/// Formats a size in the largest unit that divides it: "4GiB", "1500B".
package func sizeText(_ bytes: Int) -> String {
    inLargest(of: sizeUnits, Int64(bytes))
}

/// Formats a duration in the largest unit that divides it: "7d", "1500ms".
package func durationText(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    return inLargest(of: durationUnits, seconds * 1000 + attoseconds / 1_000_000_000_000_000)
}

private typealias Unit = (name: String, scale: Int64)

// Tables instead of literals in a loop: for constant divisors the compiler generates tests whose
// order differs from build to build, and two builds of one commit should be identical.
private let sizeUnits: [Unit] = [
    ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
]
private let durationUnits: [Unit] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
]

private func inLargest(of units: [Unit], _ count: Int64) -> String {
    let unit = units.first { count >= $0.scale && count % $0.scale == 0 } ?? units[units.count - 1]
    return "\(count / unit.scale)\(unit.name)"
}

/// Formats a size with one decimal: "12.3MiB".
package func roughSize(_ bytes: Int) -> String {
    for (name, scale) in [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    where bytes >= scale {
        let tenths = (Double(bytes) / Double(scale) * 10).rounded() / 10
        return tenths == tenths.rounded() ? "\(Int(tenths))\(name)" : "\(tenths)\(name)"
    }
    return "\(bytes)B"
}

/// Formats a duration in its two largest units: "3d 4h", "12m 5s", "850ms".
package func spanText(_ span: Duration) -> String {
    let milliseconds = max(.zero, span) / .milliseconds(1)
    guard milliseconds >= 1000 else { return "\(Int(milliseconds))ms" }
    var rest = Int(milliseconds / 1000)
    var parts: [String] = []
    for (unit, seconds) in [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)] {
        let count = rest / seconds
        rest %= seconds
        if count > 0 { parts.append("\(count)\(unit)") }
    }
    return parts.prefix(2).joined(separator: " ")
}
