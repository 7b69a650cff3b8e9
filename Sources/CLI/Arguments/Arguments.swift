import Configuration
// The C library's `environ` is a mutable variable, but this program never changes it.
@preconcurrency import Glibc
import System

/// A command's options and words, checked against the ones it accepts.
struct Arguments {
    private(set) var values: [String: String] = [:]
    /// Values of repeatable options, whose placeholder ends with "…" in the help.
    private(set) var lists: [String: [String]] = [:]
    private(set) var flags: Set<String> = []
    /// Words without dashes, for commands that take them.
    private(set) var words: [String] = []
    private(set) var wantsHelp = false
    let command: Command
    let programs: ServerPrograms

    init(
        _ words: [String],
        of command: Command,
        _ programs: ServerPrograms
    ) throws(UsageError) {
        (self.command, self.programs) = (command, programs)
        let options = command.options
        var rest = words[...]
        while let word = rest.popFirst() {
            if Help.isWanted(word) {
                wantsHelp = true
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard word.hasPrefix("-"), word != "-" else {
                self.words.append(word)
                if self.words.count <= command.wordsMax { continue }
                throw UsageError("sluice \(command.name): unexpected \(word)")
            }
            guard let option = options.first(where: { $0.name == name }) else {
                let names = options.map(\.name)
                throw .unknown("option", name, among: names)
            }
            guard values[name] == nil, flags.insert(name).inserted || !option.value.isEmpty else {
                throw UsageError("\(name) is given twice")
            }
            let placeholder = option.value
            guard !placeholder.isEmpty else {
                guard parts.count == 1 else {
                    throw UsageError("\(name) takes no value")
                }
                continue
            }
            guard option.takesWord else {
                if parts.count == 2 { values[name] = String(parts[1]) }
                continue
            }
            flags.remove(name)
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst(), !value.isEmpty
            else { throw UsageError("\(name) needs a value: \(name) \(placeholder)") }
            if placeholder.hasSuffix("…") {
                lists[name, default: []].append(value)
            } else {
                values[name] = value
            }
        }
    }

    /// The given ones of these options, as a query.
    func query(_ names: [String]) -> [(name: String, value: String)] {
        names.compactMap { name in values["--\(name)"].map { (name: name, value: $0) } }
    }

    /// nil: it is not given.
    func number(
        _ option: String,
        in range: ClosedRange<Int>,
        _ rule: String
    ) throws(UsageError) -> Int? {
        guard let text = values[option] else { return nil }
        guard let number = Int(text), range.contains(number) else { throw UsageError(rule) }
        return number
    }

    /// The first word of a command that has verbs.
    func verb<Verb: RawRepresentable<String> & CaseIterable>(
        orElse usual: Verb
    ) throws(UsageError) -> Verb {
        guard let word = words.first else { return usual }
        guard let verb = Verb(rawValue: word) else {
            throw .unknown("verb", word, among: Verb.allCases.map(\.rawValue))
        }
        return verb
    }

    /// The one word of a command that works on a file or directory.
    func path(_ placeholder: String) throws(UsageError) -> String {
        guard let path = words.first, !path.isEmpty else {
            let name = command.name
            throw UsageError("\(name) needs a value: sluice \(name) \(placeholder)")
        }
        return path
    }
}

/// An error in the command line, in one line.
struct UsageError: Error {
    let problem: String

    init(_ problem: String) {
        self.problem = problem
    }

    static func unknown(_ what: String, _ word: String, among names: [String]) -> UsageError {
        let meant = nearMiss(word, among: names).map { ", did you mean \($0)?" } ?? ""
        return UsageError("unknown \(what) \(word)\(meant)")
    }
}

/// nil: the configuration cannot be used, and the reasons are told.
func configured<Value>(
    _ value: @autoclosure () throws(ConfigurationProblems) -> Value
) -> Value? {
    do throws(ConfigurationProblems) {
        return try value()
    } catch {
        Terminal.complain(error.description)
        return nil
    }
}

/// Reads the file that an argument names; "-" is standard input.
enum FileContents {
    static func read(_ path: String, bytesMax: Int) throws(UsageError) -> [UInt8] {
        let descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw UsageError("\(path) cannot be read: \(reason)")
        }
        defer { if descriptor > 0 { close(descriptor) } }
        var content: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while content.count <= bytesMax {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            content += piece.prefix(count)
        }
        guard content.count <= bytesMax else {
            throw UsageError("\(path) is larger than \(bytesMax) bytes")
        }
        return content
    }
}

/// The process's environment.
func environmentVariables() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
        let parts = String(cString: text).split(
            separator: "=",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
        entry += 1
    }
    return variables
}
