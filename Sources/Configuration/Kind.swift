import System

/// Why a text is not a value of the wanted kind, and what would be one.
struct Mismatch: Error, Equatable {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

/// What a setting's text must look like.
package struct Kind<Value> {
    /// "a size such as 64MiB"
    let wants: String
    let parse: (String) throws(Mismatch) -> Value
}

extension Kind<String> {
    static func text(upTo bytesMax: Int) -> Kind {
        Kind(wants: "a text") { text throws(Mismatch) in
            guard text.utf8.count <= bytesMax else {
                throw Mismatch("longer than \(bytesMax) bytes")
            }
            return text
        }
    }

    package static var path: Kind {
        Kind(wants: "a path") { text throws(Mismatch) in
            guard !text.isEmpty, !text.utf8.contains(0) else { throw Mismatch("wants a path") }
            return text
        }
    }
}

extension Kind<String> {
    /// A file that is there and can be read, so that the mistake shows now and not at the first send.
    static var readableFile: Kind {
        Kind(wants: "the path of a file") { text throws(Mismatch) in
            do throws(FileProblem) {
                _ = try fileContent(text, bytesMax: 16 << 20, waits: false)
                return text
            } catch {
                throw Mismatch("\(text) cannot be read: \(error.reason)")
            }
        }
    }
}

extension Kind<Int> {
    static func size(_ range: ClosedRange<Int>) -> Kind {
        Kind(wants: "a size such as 64MiB") { text throws(Mismatch) in
            guard let size = byteSize(text) else {
                throw Mismatch(
                    "\(quoted(text)) is not a size; write one such as 512KiB, 64MiB, 4GiB"
                )
            }
            guard range.contains(size) else {
                throw Mismatch(
                    "\(text) is not between \(sizeText(range.lowerBound)) and \(sizeText(range.upperBound))"
                )
            }
            return size
        }
    }

    static func count(_ range: ClosedRange<Int>) -> Kind {
        Kind(wants: "a number") { text throws(Mismatch) in
            guard let number = Int(text) else {
                throw Mismatch("\(quoted(text)) is not a whole number")
            }
            guard range.contains(number) else {
                throw Mismatch(
                    "\(number) is not between \(range.lowerBound) and \(range.upperBound)"
                )
            }
            return number
        }
    }
}

extension Kind<Duration> {
    static func duration(_ range: ClosedRange<Duration>) -> Kind {
        Kind(wants: "a duration such as 10s") { text throws(Mismatch) in
            guard let duration = timeSpan(text) else {
                throw Mismatch(
                    "\(quoted(text)) is not a duration; write one such as 500ms, 10s, 2h, 7d"
                )
            }
            guard range.contains(duration) else {
                throw Mismatch(
                    "\(text) is not between \(durationText(range.lowerBound)) and "
                        + durationText(range.upperBound)
                )
            }
            return duration
        }
    }
}

extension Kind<Bool> {
    static var boolean: Kind {
        Kind(wants: "true or false") { text throws(Mismatch) in
            switch text {
            case "true": return true
            case "false": return false
            default: throw Mismatch("\(quoted(text)) is neither true nor false")
            }
        }
    }
}

extension Kind {
    /// One of a few words.
    static func choice(_ words: KeyValuePairs<String, Value>) -> Kind {
        let names = words.map(\.key)
        return Kind(wants: "one of \(names.joined(separator: ", "))") { text throws(Mismatch) in
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

/// A value as an error shows it: quoted, and not longer than a line can bear.
func quoted(_ text: String) -> String {
    text.count > 60 ? jsonQuoted(String(text.prefix(57)) + "...") : jsonQuoted(text)
}
