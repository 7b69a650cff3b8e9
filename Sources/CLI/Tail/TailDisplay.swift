import JSON
import System

/// Prints the logs of a tail as they arrive, one write for each piece, and counts them.
final class TailDisplay {
    private let isJSON: Bool
    /// The number of logs still wanted; nil for no limit.
    private var wanted: Int?
    private var events = EventStream()

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

    private static func missed(_ data: [UInt8]) -> String {
        var json = JSONReader(data)
        guard json.take("{"), json.string() == "logs", json.take(":"),
            let count = json.wholeNumber()
        else { return "some logs are not shown" }
        let what = count == 1 ? "1 log is" : "\(count) logs are"
        return "\(what) not shown: they arrive faster than they are read here"
    }
}
