import JSON
import System

/// Text for people, from a JSON document: a template of lines with placeholders.
///
///     host  {host}: [from {resolver}, for {seconds_left:span}|no address]
///     @each addresses
///     |   {address}[, connects in {connect_seconds:span}][, failed a moment ago{failed?}]
///
/// - `{a.b}` is a member's text: elements joined with commas, an object's members as `name=value`.
///   `/a` begins at the document; `.` is the value itself, `$` its member's name, `#` its number.
/// - `{a:span}` applies a format of `JSONValue.text`. Any other word is counted: `{logs:log}` is
///   "2 logs". `{a:1}` and `#1` count from 1 what counts from 0. `bytes` of a text is its length.
/// - `{a?}` has a value, `{a!}` has none, `{a=b}`, `{a!=b}` and `{a<}` (negative) are conditions:
///   they print nothing. A `b` that begins with `/` is a path.
/// - `[one|other]` prints its first alternative whose placeholders all have a value: not null,
///   false, 0 or empty.
/// - `@each PATH [CONDITION] [MOST]`, `@in PATH`, `@if CONDITION` and `@table PATH` apply to the
///   lines below that begin with `|`. A table's first line has the titles, `>` before those of
///   numbers.
/// - `@use NAME` has the lines of another template, and `{>NAME}` its first one.
/// - `@of NAME NAME` is the first line: a document for this template has one of these members.
/// - A line that has only brackets and prints nothing is left out.
///
/// Foreign text cannot steer the terminal or begin a line.
struct ViewTemplate {
    private let items: [Item]
    private let members: [String]

    init(_ lines: [Substring]) {
        let words = lines.first?.split(separator: " ") ?? []
        let hasMembers = words.first == "@of"
        members = hasMembers ? words.dropFirst().map(String.init) : []
        var lines = lines.dropFirst(hasMembers ? 1 : 0)
        items = Self.items(&lines)
    }

    /// False for a document that comes from something else.
    func fits(_ document: JSONValue) -> Bool {
        members.isEmpty || members.contains { document[$0] != nil }
    }

    /// `page` is the document's `#`.
    func text(_ document: JSONValue, page: Int = 0) -> String {
        let scope = Scope(root: document, value: document, name: "", number: page)
        return Self.lines(items, scope).map { $0 + "\n" }.joined()
    }

    // MARK: - Lines

    private indirect enum Item {
        case line([Node])
        case each(Path, ViewCondition?, most: Int, [Item])
        case within(Path, [Item])
        case when(ViewCondition, [Item])
        case table(Path, titles: [Substring], cells: [[Node]], [Item])
    }

    private static func items(_ lines: inout ArraySlice<Substring>) -> [Item] {
        var items: [Item] = []
        while let line = lines.popFirst() {
            guard line.first == "@" else {
                items.append(.line(Node.all(line)))
                continue
            }
            var below = lines.prefix { $0.first == "|" }
                .map { $0.dropFirst($0.hasPrefix("| ") ? 2 : 1) }[...]
            lines = lines.dropFirst(below.count)
            let words = line.split(separator: " ")
            switch words[0] {
            case "@use": items += ViewTemplate(View.templates[String(words[1])] ?? []).items
            case "@in": items.append(.within(Path(words[1]), Self.items(&below)))
            case "@if":
                guard let condition = ViewCondition(words[1]) else {
                    preconditionFailure("\(line)")
                }
                items.append(.when(condition, Self.items(&below)))
            case "@table":
                let titles = cells(below.removeFirst())
                let nodes = cells(below.removeFirst()).map { Node.all($0) }
                items.append(
                    .table(Path(words[1]), titles: titles, cells: nodes, Self.items(&below))
                )
            default:
                let most = words.dropFirst(2).last.flatMap { Int($0) } ?? .max
                let condition = words.dropFirst(2).first.flatMap { ViewCondition($0) }
                items.append(.each(Path(words[1]), condition, most: most, Self.items(&below)))
            }
        }
        return items
    }

    private static func cells(_ line: Substring) -> [Substring] {
        line.split(separator: " | ", omittingEmptySubsequences: false)
    }

    private static func lines(_ items: [Item], _ scope: Scope) -> [String] {
        items.flatMap { item -> [String] in
            switch item {
            case .line(let nodes):
                let text = Node.text(nodes, scope) ?? ""
                if text.isEmpty, !nodes.isEmpty { return [] }
                return [text]
            case .when(let condition, let items):
                return condition.holds(scope) ? lines(items, scope) : []
            case .within(let path, let items):
                guard let value = path.value(scope), value.isPresent else { return [] }
                return lines(items, scope.at(value))
            case .each(let path, let condition, let most, let items):
                let all = scope.elements(path).filter { condition?.holds($0) ?? true }
                let more = all.count - most
                return all.prefix(most).flatMap { lines(items, $0) }
                    + (more > 0 ? ["             and \(more) more"] : [])
            case .table(let path, let titles, let cells, let items):
                return table(scope.elements(path), titles: titles, cells: cells, items)
            }
        }
    }

    private static func table(
        _ rows: [Scope],
        titles: [Substring],
        cells: [[Node]],
        _ below: [Item]
    ) -> [String] {
        guard !rows.isEmpty else { return [] }
        let isNumber = titles.map { $0.contains(">") }
        let heads = titles.map { String($0.replacing(">", with: "")) }
        let texts = rows.map { row in cells.map { Node.text($0, row) ?? "" } }
        let widths = heads.indices.map { column in
            ([heads] + texts).map { $0[column].count }.max() ?? 0
        }
        func line(_ texts: [String]) -> String {
            var line = texts.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - texts[column].count)
                return isNumber[column] ? space + texts[column] : texts[column] + space
            }.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
        return [line(heads)]
            + zip(rows, texts).flatMap { row, texts in [line(texts)] + lines(below, row) }
    }
}

/// The value that a line is about.
struct Scope {
    let root: JSONValue
    let value: JSONValue
    let name: String
    let number: Int

    func at(_ value: JSONValue) -> Scope {
        Scope(root: root, value: value, name: name, number: number)
    }

    func elements(_ path: Path) -> [Scope] {
        switch path.value(self) {
        case .array(let values):
            values.enumerated().map { Scope(root: root, value: $1, name: "", number: $0) }
        case .object(let members):
            members.enumerated().map {
                Scope(root: root, value: $1.value, name: $1.name, number: $0)
            }
        default: []
        }
    }
}

/// The place of a value in the document.
struct Path {
    private let isAbsolute: Bool
    private let names: [String]

    init(_ text: Substring) {
        isAbsolute = text.first == "/"
        names = text == "." ? [] : text.drop { $0 == "/" }.split(separator: ".").map(String.init)
    }

    func value(_ scope: Scope) -> JSONValue? {
        switch names.first {
        case "$": return .string(scope.name)
        case "#": return .number(Double(scope.number))
        case "#1": return .number(Double(scope.number + 1))
        default: break
        }
        return names.reduce(isAbsolute ? scope.root : scope.value) { value, name in
            if let elements = value?.elements, let index = Int(name) {
                return elements.indices.contains(index) ? elements[index] : nil
            }
            return value?[name]
        }
    }
}

struct ViewCondition {
    private enum Test {
        case present, absent, negative
        case equals(String), differs(String)
    }

    private let path: Path
    private let test: Test

    /// nil: the text is no condition.
    init?(_ text: Substring) {
        guard let end = text.firstIndex(where: { "?!<=".contains($0) }) else { return nil }
        path = Path(text[..<end])
        let rest = String(text[text.index(after: end)...])
        switch text[end] {
        case "?": test = .present
        case "<": test = .negative
        case "=": test = .equals(rest)
        default: test = rest.isEmpty ? .absent : .differs(String(rest.dropFirst()))
        }
    }

    func holds(_ scope: Scope) -> Bool {
        let value = path.value(scope)
        let word = value == .null ? "null" : value?.plain
        func other(_ text: String) -> String? {
            text.first == "/" ? Path(text[...]).value(scope)?.plain : text
        }
        switch test {
        case .present: return value?.isPresent == true
        case .absent: return value?.isPresent != true
        case .negative:
            guard case .number(let number) = value else { return false }
            return number < 0
        case .equals(let text): return word == other(text)
        case .differs(let text): return word != other(text)
        }
    }
}

/// A part of a line.
indirect enum Node {
    case literal(String)
    case value(Path, format: Substring)
    case condition(ViewCondition)
    case group([[Node]])

    static func all(_ line: Substring) -> [Node] {
        var rest = line
        return sequence(&rest)
    }

    /// Reads up to the end of the alternative.
    private static func sequence(_ rest: inout Substring, inGroup: Bool = false) -> [Node] {
        var nodes: [Node] = []
        while let next = rest.first, !(inGroup && (next == "|" || next == "]")) {
            switch next {
            case "[":
                var alternatives: [[Node]] = []
                repeat {
                    rest.removeFirst()
                    alternatives.append(sequence(&rest, inGroup: true))
                } while rest.first == "|"
                rest = rest.dropFirst()
                nodes.append(.group(alternatives))
            case "{":
                let end = rest.firstIndex(of: "}") ?? rest.endIndex
                nodes += placeholder(rest[..<end].dropFirst())
                rest = rest[end...].dropFirst()
            default:
                let text = rest.prefix { !"[{".contains($0) && !(inGroup && "|]".contains($0)) }
                nodes.append(.literal(String(text)))
                rest = rest[text.endIndex...]
            }
        }
        return nodes
    }

    private static func placeholder(_ text: Substring) -> [Node] {
        if text.first == ">" {
            return View.templates[String(text.dropFirst())].map { all($0[0]) } ?? []
        }
        if let condition = ViewCondition(text) { return [.condition(condition)] }
        let parts = text.split(separator: ":", maxSplits: 1)
        return [.value(Path(parts[0]), format: parts.dropFirst().first ?? "")]
    }

    /// nil: a condition does not hold, or, in a group, a value is absent.
    static func text(_ nodes: [Node], _ scope: Scope, inGroup: Bool = false) -> String? {
        var line = ""
        for node in nodes {
            switch node {
            case .literal(let text): line += text
            case .value(let path, let format):
                let value = path.value(scope) ?? .null
                if inGroup, !value.isPresent { return nil }
                line += value.text(format)
            case .condition(let condition):
                guard condition.holds(scope) else { return nil }
            case .group(let alternatives):
                line += alternatives.lazy.compactMap { text($0, scope, inGroup: true) }.first ?? ""
            }
        }
        return line
    }
}

// MARK: - Values

extension JSONValue {
    /// False for null, false, 0, and what is empty or has only nulls.
    fileprivate var isPresent: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .number(let number): number != 0
        case .string(let text): !text.isEmpty
        case .array(let elements): !elements.isEmpty
        case .object(let members): members.contains { $0.value != .null }
        }
    }

    fileprivate var plain: String {
        switch self {
        case .null: ""
        case .bool, .number: written
        case .string(let text): text
        case .array(let elements): elements.map(\.plain).joined(separator: ", ")
        case .object(let members):
            members.filter { $0.value != .null }
                .map { "\(TerminalText.shown($0.name))=\(TerminalText.shown($0.value.plain))" }
                .joined(separator: " ")
        }
    }

    fileprivate func text(_ format: Substring) -> String {
        let number: Double = if case .number(let number) = self { number } else { 0 }
        // Another gateway may answer any number.
        let whole = Int(exactly: number.rounded()) ?? 0
        return switch format {
        case "": printable(plain)
        // In quotes where it would be mistaken for something else.
        case "shown": TerminalText.shown(plain)
        // As many as a body has.
        case "lines": TerminalText.lines(plain)
        case "json": printable(written)
        // Elements with key and value, as names may repeat.
        case "pairs":
            (elements ?? []).map { tag in
                [tag["key"], tag["value"]].map { TerminalText.shown($0?.plain ?? "") }
                    .joined(separator: "=")
            }.joined(separator: " ")
        case "span": spanText(.seconds(min(abs(number), 1e12)))
        case "size": roughSize(whole)
        case "bytes": sizeText(length ?? whole)
        case "1": "\(whole &+ 1)"
        case "tenths": "\((number * 10).rounded() / 10)"
        case "total": "\(sum)"
        case "ledger": equation
        default: counted(elements?.count ?? whole, String(format))
        }
    }

    private var length: Int? {
        if case .string(let text) = self { text.utf8.count } else { nil }
    }

    private var sum: Int {
        guard case .object(let members) = self else { return 0 }
        return members.reduce(0) { $0 &+ ($1.value.wholeNumber ?? 0) }
    }

    /// The equation of a ledger, which must always hold.
    private var equation: String {
        let ends = ["delivered", "queued", "dead", "expired", "discarded"].map { name in
            (name: name, count: self[name]?.wholeNumber ?? 0)
        }
        let accepted = self["accepted"]?.wholeNumber ?? 0
        let isClosed = ends.reduce(0) { $0 &+ $1.count } == accepted
        let skipped = self["skipped"]?.wholeNumber ?? 0
        return "accepted \(accepted) = "
            + ends.map { "\($0.name) \($0.count)" }.joined(separator: " + ")
            + (isClosed ? "" : "   DOES NOT HOLD: report this as a defect of Sluice")
            + (skipped > 0 ? ", skipped \(skipped) for lack of room (required: false)" : "")
    }
}
