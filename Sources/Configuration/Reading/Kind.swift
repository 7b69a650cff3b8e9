import System

/// Why a text is not a value of the wanted kind, and what would be one.
struct Mismatch: Error, Equatable {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    init(@TextParts _ reason: () -> String) { self.init(reason()) }
}

/// Throws the reason if the condition is false.
func expect(_ isRight: Bool, @TextParts _ reason: () -> String) throws(Mismatch) {
    guard isRight else { throw Mismatch(reason()) }
}

/// What a setting's text must look like, and how its value is shown.
package struct Kind<Value> {
    /// "a size such as 64MiB"
    let wants: String
    let shape: SettingShape
    /// For defaults and the admin JSON.
    let show: (Value) -> SettingValue
    /// The RE2 instructions of a value, for `ProblemReport.countInstructions`.
    let instructions: ((Value) -> Int)?
    let parse: (String) throws(Mismatch) -> Value

    init(
        wants: String,
        _ shape: SettingShape = .text(),
        show: @escaping (Value) -> SettingValue = { _ in .hidden },
        instructions: ((Value) -> Int)? = nil,
        parse: @escaping (String) throws(Mismatch) -> Value
    ) {
        self.wants = wants
        self.shape = shape
        self.show = show
        self.instructions = instructions
        self.parse = parse
    }
}

extension Kind {
    /// A text that a parser of another room reads, which says what is wrong with it.
    init<Problem: Error & CustomStringConvertible>(
        wants: String,
        show: @escaping (Value) -> SettingValue = { _ in .hidden },
        parsedBy parse: @escaping (String) throws(Problem) -> Value
    ) {
        self.init(wants: wants, show: show) { text throws(Mismatch) in
            do throws(Problem) { return try parse(text) } catch { throw Mismatch("\(error)") }
        }
    }

    /// nil from `parse` refuses the text; `remedy` goes on: "is not an address; write one such as
    /// 192.0.2.7".
    init(
        wants: String,
        _ shape: SettingShape = .text(),
        show: @escaping (Value) -> SettingValue = { _ in .hidden },
        or remedy: String,
        parsedBy parse: @escaping (String) -> Value?
    ) {
        self.init(wants: wants, shape, show: show) { text throws(Mismatch) in
            guard let value = parse(text) else { throw Mismatch("\(quoted(text)) \(remedy)") }
            return value
        }
    }
}

extension Kind where Value: Comparable {
    /// Refuses a value out of a range; `words` writes its ends.
    fileprivate static func check(
        _ value: Value,
        _ text: String,
        in range: ClosedRange<Value>,
        _ words: (Value) -> String
    ) throws(Mismatch) -> Value {
        guard !range.contains(value) else { return value }
        let (low, high) = (words(range.lowerBound), words(range.upperBound))
        throw Mismatch("\(text) is not between \(low) and \(high)")
    }
}

extension Kind<String> {
    /// A text that stays as it is; `problem` is what is wrong with it.
    static func text(
        _ wants: String,
        _ shape: SettingShape = .text(),
        show: @escaping (String) -> SettingValue = { .text($0) },
        problem: @escaping (String) -> String?
    ) -> Kind {
        Kind(wants: wants, shape, show: show) { text throws(Mismatch) in
            if let problem = problem(text) { throw Mismatch(problem) }
            return text
        }
    }

    static func text(upTo bytesMax: Int) -> Kind {
        text("a text") { $0.utf8.count <= bytesMax ? nil : "longer than \(bytesMax) bytes" }
    }

    package static var path: Kind {
        text("a path") { $0.isEmpty || $0.utf8.contains(0) ? "wants a path" : nil }
    }

    /// An existing, readable file, so that the mistake shows now and not at the first send.
    static var readableFile: Kind {
        text("the path of a file") { path in
            do throws(FileProblem) {
                _ = try fileContent(path, bytesMax: 16 << 20, waits: false)
                return nil
            } catch {
                return "\(path) cannot be read: \(error.reason)"
            }
        }
    }
}

extension Kind<Int> {
    static func size(_ range: ClosedRange<Int>) -> Kind {
        Kind(wants: "a size such as 64MiB", .size(range), show: { .size($0) }) {
            text throws(Mismatch) in
            guard let size = byteSize(text) else {
                throw Mismatch(
                    "\(quoted(text)) is not a size; write one such as 512KiB, 64MiB, 4GiB"
                )
            }
            return try check(size, text, in: range, sizeText)
        }
    }

    static func count(_ range: ClosedRange<Int>) -> Kind {
        Kind(wants: "a number", .count(range), show: { .number($0) }) { text throws(Mismatch) in
            guard let number = Int(text) else {
                throw Mismatch("\(quoted(text)) is not a whole number")
            }
            return try check(number, "\(number)", in: range, \.description)
        }
    }

    /// A part of a whole: "20%" is 20.
    static func percent(upTo percentMax: Int) -> Kind {
        Kind(wants: "a percentage such as 20%", .percent(percentMax), show: { .text("\($0)%") }) {
            text throws(Mismatch) in
            let number = text.hasSuffix("%") ? text.dropLast() : text == "0" ? text[...] : ""
            guard !number.isEmpty, number.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let percent = Int(number)
            else { throw Mismatch("\(quoted(text)) is not a percentage; write one such as 20%") }
            return try check(percent, text, in: 0...percentMax) { "\($0)%" }
        }
    }

    /// A rate that is judged each second, so "/s" is its only unit.
    static func bytesPerSecond(_ range: ClosedRange<Int>) -> Kind {
        Kind(
            wants: "a rate such as 1KiB/s",
            .rate(ofBytes: true, units: "s"),
            show: { .text("\(sizeText($0))/s") }
        ) { text throws(Mismatch) in
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[1] == "s", let bytes = byteSize(String(parts[0])) else {
                throw Mismatch("\(quoted(text)) is not a rate; write one such as 1KiB/s")
            }
            return try check(bytes, text, in: range) { "\(sizeText($0))/s" }
        }
    }
}

extension Kind<Duration> {
    static func duration(_ range: ClosedRange<Duration>) -> Kind {
        Kind(
            wants: "a duration such as 10s",
            .duration(range),
            show: { .text(durationText($0)) }
        ) { text throws(Mismatch) in
            guard let duration = timeSpan(text) else {
                throw Mismatch(
                    "\(quoted(text)) is not a duration; write one such as 500ms, 10s, 2h, 7d"
                )
            }
            return try check(duration, text, in: range, durationText)
        }
    }

    /// A duration forwards, or backwards with '-' in front.
    static func offset(upTo bound: Duration) -> Kind {
        Kind(wants: "an offset such as 90s or -2h", .offset, show: { .text(durationText($0)) }) {
            written throws(Mismatch) in
            let isBackwards = written.hasPrefix("-")
            let digits =
                isBackwards || written.hasPrefix("+") ? String(written.dropFirst()) : written
            guard let distance = timeSpan(digits) else {
                throw Mismatch("\(quoted(written)) is not an offset; write one such as 90s or -2h")
            }
            guard distance <= bound else {
                let text = durationText(bound)
                throw Mismatch("\(written) is not between -\(text) and \(text)")
            }
            return isBackwards ? .zero - distance : distance
        }
    }
}

extension Kind<Bool> {
    static var boolean: Kind {
        Kind(
            wants: "true or false",
            .truth,
            show: { .truth($0) },
            or: "is neither true nor false",
            parsedBy: Bool.init
        )
    }
}

extension Kind where Value: CaseIterable & RawRepresentable & Equatable, Value.RawValue == String {
    /// One of the names of an enum's cases.
    static var word: Kind { choice(Value.allCases.map { ($0.rawValue, $0) }) }
}

extension Kind where Value: Equatable {
    /// One of a few words.
    static func choice(_ words: KeyValuePairs<String, Value>) -> Kind { choice(Array(words)) }

    static func choice(_ words: [(key: String, value: Value)]) -> Kind {
        let names = words.map(\.key)
        return Kind(
            wants: "one of \(names.joined(separator: ", "))",
            .choice(names),
            show: { value in .text(words.first { $0.value == value }?.key ?? "") }
        ) { text throws(Mismatch) in
            guard let word = words.first(where: { $0.key == text }) else {
                let hint = nearMiss(text, among: names).map { "; did you mean \($0)?" } ?? ""
                throw Mismatch(
                    "\(quoted(text)) is not one of \(names.joined(separator: ", "))\(hint)"
                )
            }
            return word.value
        }
    }
}

extension Kind {
    static func commaSeparated<Item>(
        _ item: Kind<Item>,
        _ counts: ClosedRange<Int>
    ) -> Kind<[Item]> where Value == [Item] {
        Kind(wants: "\(item.wants), or a list of them") { text throws(Mismatch) in
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
            try counts.check(parts.count)
            var items: [Item] = []
            var reasons: [String] = []
            for part in parts {
                do throws(Mismatch) {
                    items.append(try item.parse(trimmed(part)))
                } catch {
                    reasons.append(error.reason)
                }
            }
            guard reasons.isEmpty else { throw Mismatch(reasons.joined(separator: "; ")) }
            return items
        }
    }
}

/// Refuses a text that is empty, too long, or more than one line. The message repeats none of it.
func checkLine(_ text: String, upTo bytesMax: Int = 1024) throws(Mismatch) {
    guard !text.isEmpty else { throw Mismatch("is empty; give it, or take the line away") }
    guard text.utf8.count <= bytesMax else { throw Mismatch("is longer than \(bytesMax) bytes") }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
        throw Mismatch("has line ends or other control characters; give one line of text")
    }
}

/// A value as an error shows it: quoted, and not longer than a line can bear.
func quoted(_ text: String) -> String {
    text.count > 60 ? jsonQuoted(String(text.prefix(57)) + "...") : jsonQuoted(text)
}

extension ClosedRange<Int> {
    func check(_ count: Int) throws(Mismatch) {
        guard !contains(count) else { return }
        throw Mismatch(
            count == 0
                ? "is an empty list; give at least \(lowerBound)"
                : "has \(count) values; give at most \(upperBound)"
        )
    }
}

func trimmed(_ text: Substring) -> String {
    let spaces = { (character: Character) in character == " " || character == "\t" }
    return String(text.drop(while: spaces).reversed().drop(while: spaces).reversed())
}
