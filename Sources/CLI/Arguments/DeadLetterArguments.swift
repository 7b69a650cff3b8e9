import Rendering

/// Turns the words and options of `sluice dead-letters …` into a request.
enum DeadLetterArguments {
    private enum Verb: String, CaseIterable {
        case list, show, export, edit, replay, purge
    }

    private static let logBytesMax = 10 << 20

    static func request(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let path = "/admin/dead-letters"
        let numbers = Array(arguments.words.dropFirst())
        let verb = try arguments.verb(orElse: Verb.list)
        let filter = arguments.query(["destination", "logstore", "code"])
        switch verb {
        case .list:
            try refuse(numbers)
            return AdminRequest(
                .get,
                path,
                query: filter,
                arrayOfPages: arguments.isJSON ? "dead_letters" : nil,
                shown: arguments.view(.deadLetters)
            )
        case .export:
            try refuse(numbers)
            return AdminRequest(.get, path + "/export", query: filter + [("limit", "1000")])
        case .show:
            let shown = arguments.view(.deadLetter)
            return AdminRequest(.get, "\(path)/\(try one(numbers, verb))", shown: shown)
        case .edit:
            let number = try one(numbers, verb)
            guard let file = arguments.values["--file"] ?? (filter.isEmpty ? nil : "/dev/null")
            else {
                throw UsageError("edit needs --file FILE with the log, or --logstore")
            }
            return AdminRequest(
                .put,
                "\(path)/\(number)",
                query: filter,
                body: try FileContents.read(file, bytesMax: logBytesMax),
                shown: arguments.view(.editedLetter)
            )
        case .replay, .purge:
            let isAll = arguments.flags.contains("--all")
            let query = try selection(numbers, filter, isAll: isAll, of: verb)
            return AdminRequest(
                .post,
                "\(path)/\(verb.rawValue)",
                query: query,
                shown: arguments.view(.letterChange)
            )
        }
    }

    private static func refuse(_ numbers: [String]) throws(UsageError) {
        guard let first = numbers.first else { return }
        throw UsageError("sluice dead-letters: unexpected \(first)")
    }

    private static func one(_ numbers: [String], _ verb: Verb) throws(UsageError) -> String {
        guard numbers.count == 1, isID(numbers[0]) else {
            throw UsageError("\(verb.rawValue) needs the id of one dead letter")
        }
        return numbers[0]
    }

    /// "17", and "gw-1~0a1b2c3d-17" in a cluster.
    private static func isID(_ text: String) -> Bool {
        let digits = text.split(separator: "-", omittingEmptySubsequences: false).last ?? ""
        return Int64(digits) ?? 0 > 0
    }

    private static func selection(
        _ numbers: [String],
        _ filter: [(name: String, value: String)],
        isAll: Bool,
        of verb: Verb
    ) throws(UsageError) -> [(name: String, value: String)] {
        if let wrong = numbers.first(where: { !isID($0) }) {
            throw UsageError("\(wrong) is not the id of a dead letter")
        }
        guard !numbers.isEmpty || !filter.isEmpty || isAll else {
            throw UsageError("\(verb.rawValue) needs ids, a filter or --all")
        }
        if !numbers.isEmpty { return filter + [("ids", numbers.joined(separator: ","))] }
        return filter.isEmpty ? [("all", "true")] : filter
    }
}
