import JSON
import Rendering

/// Turns the words and options of `sluice capture …` into a request. The gateway checks the values.
enum CaptureArguments {
    private enum Verb: String, CaseIterable {
        case start, list, show, har, export, curl, replay, stop
    }

    private static let path = "/admin/captures"
    private static let rulesBytesMax = 64 << 10
    private static let filters = ["path", "host", "tag", "key", "address", "status", "text"]
    private static let limits = ["records", "bytes", "seconds"]

    static func request(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let verb = try arguments.verb(orElse: Verb.list)
        let rest = Array(arguments.words.dropFirst())
        switch verb {
        case .start:
            try expect(rest, 0, "start takes options only")
            return AdminRequest(.post, path, body: try start(arguments))
        case .list:
            try expect(rest, 0, "list takes no capture")
            return AdminRequest(.get, path, shown: arguments.view(.captures))
        case .show where rest.count == 2:
            return AdminRequest(.get, record(rest), shown: arguments.view(.captureRecord))
        case .show:
            try expect(rest, 1, "show needs a capture: show ID [N]")
            return AdminRequest(.get, capture(rest), shown: arguments.view(.captureEntries))
        case .har, .export:
            try expect(rest, 1, "\(verb) needs a capture: \(verb) ID")
            return AdminRequest(.get, "\(capture(rest))/\(verb)")
        case .curl:
            try expect(rest, 2, "curl needs a capture and a record: curl ID N")
            return AdminRequest(.get, "\(record(rest))/curl")
        case .replay:
            try expect(rest, 2, "replay needs a capture and a record: replay ID N")
            let rules = try arguments.values["--file"].map { file throws(UsageError) in
                try FileContents.read(file, bytesMax: rulesBytesMax)
            }
            let isSent = arguments.flags.contains("--send")
            guard !isSent || rules == nil else {
                throw UsageError(
                    "--send uses the present filters and routes, so it takes no --file"
                )
            }
            return AdminRequest(
                .post,
                "\(record(rest))/replay",
                query: isSent ? [("dry", "false")] : [],
                body: rules,
                shown: arguments.view(.captureReplay)
            )
        case .stop:
            try expect(rest, 1, "stop needs a capture: stop ID")
            return AdminRequest(.delete, capture(rest))
        }
    }

    private static func expect(
        _ words: [String],
        _ count: Int,
        _ rule: String
    ) throws(UsageError) {
        guard words.count == count else { throw UsageError(rule) }
    }

    private static func capture(_ words: [String]) -> String {
        "\(path)/\(AdminRequest.encoded(words[0]))"
    }

    private static func record(_ words: [String]) -> String {
        "\(capture(words))/records/\(AdminRequest.encoded(words[1]))"
    }

    /// `--path /logs --records 10` becomes `{"filter":{"path":"/logs"},"records":10}`.
    private static func start(_ arguments: Arguments) throws(UsageError) -> [UInt8] {
        var numbers: [(name: String, value: Int)] = []
        for name in limits {
            let rule = "--\(name) is a number, 1 or more"
            let number = try arguments.number("--\(name)", in: 1...Int.max, rule)
            if let number { numbers.append((name, number)) }
        }
        return JSONWriter { json in
            json.object("filter") { json in
                for (name, value) in arguments.query(filters) { json.member(name, value) }
            }
            for (name, number) in numbers { json.member(name, number) }
        }.bytes
    }
}
