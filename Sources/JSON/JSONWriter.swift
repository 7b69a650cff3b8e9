import System

/// Writes a JSON document front to back; members keep the order of the calls.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init() {}

    /// A document of one object.
    package init(_ members: (inout JSONWriter) -> Void) { object(members) }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package mutating func reserve(_ byteCount: Int) { bytes.reserveCapacity(byteCount) }

    /// Ends a line of JSON lines; the next value begins another document.
    package mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

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

    /// An array with an object for each item.
    package mutating func objects<Items: Sequence>(
        _ name: String,
        _ items: Items,
        _ members: (inout JSONWriter, Items.Element) -> Void
    ) {
        array(name) { json in for item in items { json.object { members(&$0, item) } } }
    }

    /// An array of texts.
    package mutating func texts(_ name: String, _ texts: some Sequence<String>) {
        array(name) { json in for text in texts { json.element(text) } }
    }

    /// An object, or null.
    package mutating func object<Value>(
        _ name: String,
        ifAny value: Value?,
        _ members: (inout JSONWriter, Value) -> Void
    ) {
        guard let value else { return member(name, nil as String?) }
        object(name) { members(&$0, value) }
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

    /// Writes a text that is UTF-8 already.
    package mutating func member(_ name: String, utf8 value: UnsafeRawBufferPointer) {
        key(name)
        element(utf8: value)
    }

    /// Writes a name and a text that are UTF-8 already.
    package mutating func member(utf8 name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    {
        key(utf8: name)
        element(utf8: value)
    }

    /// Copies members that are JSON already, without the braces of their object.
    package mutating func members(written: UnsafeRawBufferPointer) {
        guard !written.isEmpty else { return }
        separate()
        bytes += written
        needsComma = true
    }

    /// Writes at most three decimals.
    package mutating func element(decimal value: Double?) {
        raw(value.map(decimalText) ?? "null")
    }

    package mutating func element(_ value: some FixedWidthInteger) {
        raw("\(value)")
    }

    package mutating func element(_ value: String) {
        var value = value
        value.withUTF8 { element(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Copies a value that is JSON already.
    package mutating func member(_ name: String, written: String) {
        key(name)
        raw(written)
    }

    /// The same in an array.
    package mutating func element(written: String) { raw(written) }

    private mutating func element(utf8 value: UnsafeRawBufferPointer) {
        separate()
        appendJSONQuoted(value, to: &bytes)
        needsComma = true
    }

    private mutating func key(_ name: String) {
        var name = name
        name.withUTF8 { key(utf8: UnsafeRawBufferPointer($0)) }
    }

    private mutating func key(utf8 name: UnsafeRawBufferPointer) {
        separate()
        appendJSONQuoted(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func raw(_ value: String) {
        separate()
        bytes += value.utf8
        needsComma = true
    }

    private mutating func nest(_ open: String, _ close: String, _ body: (inout JSONWriter) -> Void)
    {
        separate()
        bytes += open.utf8
        needsComma = false
        body(&self)
        bytes += close.utf8
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
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
