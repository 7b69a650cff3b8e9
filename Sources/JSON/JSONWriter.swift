import System

/// Writes a JSON document front to back; members keep the order of the calls.
package struct JSONWriter {
    package private(set) var text = ""
    private var needsComma = false

    package init() {}

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        nest("{", "}", members)
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        nest("[", "]", elements)
    }

    package mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
        key(name)
        object(members)
    }

    package mutating func array(_ name: String, _ elements: (inout JSONWriter) -> Void) {
        key(name)
        array(elements)
    }

    package mutating func member(_ name: String, _ value: String?) {
        key(name)
        value.map { element($0) } ?? raw("null")
    }

    package mutating func member(_ name: String, _ value: some FixedWidthInteger) {
        key(name)
        raw("\(value)")
    }

    package mutating func member(_ name: String, _ value: Int?) {
        key(name)
        raw(value.map { "\($0)" } ?? "null")
    }

    /// Writes a number that is a text already; nil is null.
    package mutating func member(_ name: String, number text: String?) {
        key(name)
        raw(text ?? "null")
    }

    package mutating func member(_ name: String, _ value: Bool) {
        key(name)
        raw(value ? "true" : "false")
    }

    /// Writes seconds with three decimals.
    package mutating func member(_ name: String, seconds: Duration) {
        key(name)
        raw(decimalSeconds(seconds))
    }

    /// Writes at most three decimals.
    package mutating func member(_ name: String, decimal value: Double?) {
        key(name)
        raw(value.map(decimalText) ?? "null")
    }

    package mutating func element(_ value: String) {
        raw(jsonQuoted(value))
    }

    private mutating func key(_ name: String) {
        separate()
        text += jsonQuoted(name) + ":"
        needsComma = false
    }

    private mutating func raw(_ value: String) {
        separate()
        text += value
        needsComma = true
    }

    private mutating func nest(_ open: String, _ close: String, _ body: (inout JSONWriter) -> Void)
    {
        separate()
        text += open
        needsComma = false
        body(&self)
        text += close
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { text += "," }
    }
}

/// "12.345", "-0.5", "3".
package func decimalText(_ value: Double) -> String {
    guard value.isFinite, value.magnitude < 1e15 else { return "0" }
    let thousandths = Int((value * 1000).rounded())
    let text = "\(thousandths.magnitude / 1000)"
    let fraction = thousandths.magnitude % 1000
    var digits = "\(fraction + 1000)".dropFirst()
    while digits.last == "0" { digits.removeLast() }
    return (thousandths < 0 ? "-" : "") + text + (digits.isEmpty ? "" : "." + digits)
}

extension Duration {
    /// For figures that people and their tools read.
    package var inSeconds: Double { self / .seconds(1) }
}

/// "12.345"; a negative duration, from a clock that jumped, counts as zero.
package func decimalSeconds(_ duration: Duration) -> String {
    let (seconds, attoseconds) = max(duration, .zero).components
    let thousandths = attoseconds / 1_000_000_000_000_000
    return "\(seconds).\(thousandths < 100 ? "0" : "")\(thousandths < 10 ? "0" : "")\(thousandths)"
}
