import JSON
import System

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
