import Logs
import Routing

extension Kind<TagPattern> {
    static var tagPattern: Kind {
        Kind(wants: "a pattern of tags such as pv.**", instructions: \.instructions) {
            text throws(Mismatch) in
            do throws(PatternProblem) {
                return try TagPattern(text)
            } catch {
                throw Mismatch(
                    "\(error.told(of: text, as: "a pattern of tags")); write one such as pv.**, pv.* "
                        + "or {app,web}.**"
                )
            }
        }
    }
}

extension Kind<TextPattern> {
    static var textPattern: Kind {
        Kind(wants: "a regular expression such as ^/health", instructions: \.instructions) {
            text throws(Mismatch) in
            do throws(PatternProblem) {
                return try TextPattern(text)
            } catch {
                throw Mismatch(
                    "\(error.told(of: text, as: "a regular expression")); write it as RE2 has it, "
                        + "without look-around and back references"
                )
            }
        }
    }
}

extension Kind<Template> {
    static var template: Kind {
        Kind(wants: "a text such as page.{{captured}}") { text throws(Mismatch) in
            guard text.utf8.count <= 16 << 10 else { throw Mismatch("longer than 16384 bytes") }
            do throws(PatternProblem) {
                return try Template(text)
            } catch {
                throw Mismatch(error.told(of: text, as: "a text with places"))
            }
        }
    }

    /// A log's tag must not be empty.
    static var tagTemplate: Kind {
        Kind(wants: template.wants) { text throws(Mismatch) in
            try expect((1...TagPattern.bytesMax).contains(text.utf8.count)) {
                "a tag has 1 to \(TagPattern.bytesMax) bytes; write one such as page.{{captured}}"
            }
            return try template.parse(text)
        }
    }
}

extension PatternProblem {
    fileprivate func told(of text: String, as what: String) -> String {
        "\(quoted(text)) is not \(what): \(reason), at byte \(position)"
    }
}

extension Kind<String> {
    static var fieldName: Kind {
        text("the name of a field") {
            let most = FieldName.bytesMax
            return (1...most).contains($0.utf8.count)
                ? nil : "a field's name has 1 to \(most) bytes"
        }
    }

    /// The name of a field that a step makes.
    static var newFieldName: Kind {
        Kind(wants: fieldName.wants, show: fieldName.show) { text throws(Mismatch) in
            guard !isReservedName(text) else {
                throw Mismatch("\(quoted(text)) is reserved by SLS; choose another name")
            }
            return try fieldName.parse(text)
        }
    }
}

extension Kind<FieldPattern> {
    static var fieldPattern: Kind {
        Kind(wants: "the name of a field, perhaps with *", show: { .text($0.text) }) {
            text throws(Mismatch) in
            FieldPattern(try Kind<String>.fieldName.parse(text))
        }
    }
}

extension Kind<Double> {
    static var decimal: Kind {
        Kind(wants: "a number such as 500 or 0.5") { text throws(Mismatch) in
            // Swift's numbers have other forms, too: "inf", "0x1p3".
            guard text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }),
                let number = Double(text), number.isFinite
            else {
                throw Mismatch("\(quoted(text)) is not a number; write one such as 500 or 0.5")
            }
            return number
        }
    }
}

extension Kind<Int> {
    /// A part of all logs, in millionths: "0.5%" is 5,000.
    static var millionths: Kind {
        Kind(
            wants: "a percentage such as 10% or 0.5%",
            .text(pattern: #"^[0-9]{1,3}(\.[0-9]{1,4})?%$"#),
            show: { .text(percentText(millionths: $0)) }
        ) { text throws(Mismatch) in
            let parts = text.dropLast().split(
                separator: ".",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let fraction = parts.count == 2 ? parts[1] : "0"
            let digits = parts[0] + fraction
            guard text.hasSuffix("%"), (1...3).contains(parts[0].utf8.count),
                (1...4).contains(fraction.utf8.count),
                digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let millionths = Int(digits + String(repeating: "0", count: 4 - fraction.count))
            else {
                throw Mismatch("\(quoted(text)) is not a percentage; write one such as 10% or 0.5%")
            }
            guard (1...1_000_000).contains(millionths) else {
                throw Mismatch("\(text) is not between 0.0001% and 100%")
            }
            return millionths
        }
    }
}

/// 5,000 millionths are "0.5%".
private func percentText(millionths: Int) -> String {
    let (whole, rest) = millionths.quotientAndRemainder(dividingBy: 10_000)
    guard rest > 0 else { return "\(whole)%" }
    var digits = "\(10_000 + rest)".dropFirst()
    while digits.hasSuffix("0") { digits.removeLast() }
    return "\(whole).\(digits)%"
}
