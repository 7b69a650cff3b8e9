import Configuration
import Glibc
import JSON
import System

/// `sluice tail`: prints logs as the gateway accepts them. After the first connection, it waits for
/// a gateway that goes away.
struct TailCommand {
    private let inputs: ConfigurationInputs
    private let display: TailDisplay
    private var pause = Self.pauseMin
    private var hasBegun = false

    private static let pauseMin: Duration = .milliseconds(500)
    private static let pauseMax: Duration = .seconds(15)

    init(_ inputs: ConfigurationInputs, isJSON: Bool, limit: Int?) {
        self.inputs = inputs
        display = TailDisplay(isJSON: isJSON, limit: limit)
    }

    mutating func run(_ request: AdminRequest) -> CInt {
        // The end of a pipe is noticed by a failed write.
        signal(SIGPIPE, SIG_IGN)
        while true {
            // Read again each time, because a new gateway may have created a new token.
            guard let access = configured(try AdminAccess.find(inputs)) else {
                return ExitCode.wrong
            }
            if let code = follow(AdminClient(access), request) { return code }
            if StandardOutput.isGone(within: pause) { return ExitCode.fine }
            pause = min(pause * 2, Self.pauseMax)
        }
    }

    /// nil means: try again.
    private mutating func follow(_ client: AdminClient, _ request: AdminRequest) -> CInt? {
        display.begin()
        var isHere = false
        let isBack = hasBegun
        let end = client.follow(request) { [display] piece in
            if isBack, !isHere {
                Terminal.complain("connected again; logs accepted in between are not shown")
            }
            isHere = true
            return display.show(piece)
        }
        switch end {
        case .left: return ExitCode.fine
        case .over:
            Terminal.complain("the gateway ended the stream; trying again until it is back")
            hasBegun = true
            pause = Self.pauseMin
            return nil
        case .unreachable(let problem):
            guard !hasBegun else { return nil }
            Terminal.complain(problem.description)
            return ExitCode.failed
        case .refused(let answer) where answer.isFine:
            Terminal.complain("the server at this address is not a gateway; check --admin-listen")
            return ExitCode.failed
        case .refused(let answer):
            // A starting gateway may still be busy.
            if hasBegun, answer.status >= 500 || answer.status == 429 { return nil }
            Terminal.complain(OperatorCommand.complaint(answer))
            return ExitCode.failed
        }
    }
}

/// Prints the logs of a tail as they arrive, one write for each piece, and counts them.
final class TailDisplay {
    private let isJSON: Bool
    /// The number of logs still wanted; nil for no limit.
    private var wanted: Int?
    private var events = EventStream()
    /// What `--rate` left out and was not told yet.
    private var sampled = (matched: 0, shown: 0)
    private var nextNotice = Moment.now
    private static let noticePause: Duration = .seconds(10)

    init(isJSON: Bool, limit: Int?) {
        self.isJSON = isJSON
        wanted = limit
    }

    /// Drops an event that the previous stream left incomplete.
    func begin() {
        events = EventStream()
    }

    /// Returns false when no more logs are wanted or the output is closed.
    func show(_ piece: [UInt8]) -> Bool {
        var lines: [UInt8] = []
        for event in events.take(piece) where wanted != 0 {
            guard let data = event.data else {
                Terminal.complain("a log of more than 1 MiB is not shown")
                continue
            }
            switch event.name {
            case "message":
                lines += line(data)
                wanted = wanted.map { $0 - 1 }
            case "missed":
                // The notice comes at its place between the logs.
                guard Terminal.say(bytes: lines) else { return false }
                lines = []
                Terminal.complain(Self.missed(data))
            case "sampled":
                guard Terminal.say(bytes: lines) else { return false }
                lines = []
                noteSampled(data)
            default: continue
            }
        }
        return Terminal.say(bytes: lines) && wanted != 0
    }

    private func line(_ data: [UInt8]) -> [UInt8] {
        guard !isJSON else { return data + [UInt8(ascii: "\n")] }
        let text =
            TailedLog(data)?.line
            // A gateway of another version may write something else.
            ?? TerminalText.shown(String(decoding: data, as: UTF8.self), scalarsMax: 1000)
        return Array((text + "\n").utf8)
    }

    /// Comes each second; told less often.
    private func noteSampled(_ data: [UInt8]) {
        guard let (matched, shown) = Self.sampled(data) else { return }
        sampled.matched += matched
        sampled.shown += shown
        guard Moment.now >= nextNotice else { return }
        Terminal.complain(
            "\(sampled.shown) of \(sampled.matched) logs are shown, because of --rate"
        )
        sampled = (0, 0)
        nextNotice = .now + Self.noticePause
    }

    /// `{"matched":9870,"shown":200,…}`
    static func sampled(_ data: [UInt8]) -> (matched: Int, shown: Int)? {
        let json = try? JSONValue(parsing: data)
        guard let matched = json?["matched"]?.wholeNumber, let shown = json?["shown"]?.wholeNumber
        else { return nil }
        return (matched, shown)
    }

    private static func missed(_ data: [UInt8]) -> String {
        guard let count = (try? JSONValue(parsing: data))?["logs"]?.wholeNumber else {
            return "some logs are not shown"
        }
        let what = count == 1 ? "1 log is" : "\(count) logs are"
        return "\(what) not shown: they arrive faster than they are read here"
    }
}

/// A log of the tail, parsed for display.
struct TailedLog: Equatable {
    var destination = ""
    var logstore = ""
    var topic = ""
    /// As written: seconds since 1970, with an optional fraction.
    var time = ""
    /// The log's fields, followed by source and tags under their SLS names.
    var fields: [Field] = []
    /// The number of fields beyond the limit.
    var fieldsLeft = 0

    struct Field: Equatable {
        var name: String
        var value: String
    }

    static let fieldsMax = 64
    /// Something other than the gateway may send any number.
    private static let cutMax = 1_000_000

    /// Parses
    /// `{"destination":…,"logstore":…,"topic":…,"source":…,"tags":{…},"log":{"__time__":…,…}}`,
    /// members in any order; nil for anything else. `"cut":{"fields":3}` counts fields that the
    /// gateway left out of a large log.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes), json != .object([]),
            let destination = Self.text(json["destination"]),
            let logstore = Self.text(json["logstore"]), let topic = Self.text(json["topic"]),
            let source = Self.text(json["source"]), let tags = Self.fields(json["tags"]),
            var fields = Self.fields(json["log"]), case .object = json
        else { return nil }
        (self.destination, self.logstore, self.topic) = (destination, logstore, topic)
        // The log's own time comes first; fields may have any name.
        if fields.first?.name == "__time__" { time = fields.removeFirst().value }
        if !source.isEmpty { fields.append(Field(name: "__source__", value: source)) }
        fields += tags.map { Field(name: "__tag__:\($0.name)", value: $0.value) }
        fieldsLeft = max(0, fields.count - Self.fieldsMax)
        self.fields = fields.dropLast(fieldsLeft)
        let cut = json["cut"]?["fields"]?.wholeNumber ?? 0
        fieldsLeft += min(max(cut, 0), Self.cutMax)
    }

    private static func text(_ value: JSONValue?) -> String? { value == nil ? "" : value?.text }

    /// The members of an object whose values are all texts.
    private static func fields(_ value: JSONValue?) -> [Field]? {
        guard let value else { return [] }
        guard case .object(let members) = value else { return nil }
        let fields = members.compactMap { member in
            member.value.text.map { Field(name: member.name, value: $0) }
        }
        return fields.count == members.count ? fields : nil
    }

    /// "2026-11-21T17:20:00.000Z  app/app-log  night  level=error message="disk full""
    var line: String {
        let place = "\(TerminalText.shown(destination))/\(TerminalText.shown(logstore))"
        var columns = [shownTime, place]
        if !topic.isEmpty { columns.append(TerminalText.shown(topic)) }
        var pairs = fields.map { "\(TerminalText.shown($0.name))=\(TerminalText.shown($0.value))" }
        if fieldsLeft > 0 { pairs.append("… \(counted(fieldsLeft, "more field"))") }
        return (columns + [pairs.joined(separator: " ")]).joined(separator: "  ")
    }

    private var shownTime: String {
        let parts = time.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let seconds = UInt32(first),
            let nanoseconds = Self.nanoseconds(parts.dropFirst().first ?? "")
        else { return TerminalText.shown(time) }
        return WallTime(nanoseconds: Int64(seconds) * 1_000_000_000 + nanoseconds).rfc3339
    }

    private static func nanoseconds(_ fraction: Substring) -> Int64? {
        guard fraction.utf8.count <= 9, fraction.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(fraction + String(repeating: "0", count: 9 - fraction.utf8.count))
    }
}
