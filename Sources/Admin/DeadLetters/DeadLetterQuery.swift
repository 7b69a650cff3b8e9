import HTTP
import Queue
import System

/// The dead letters that a request's query selects.
struct DeadLetterQuery {
    var filter = DeadLetterFilter()
    /// nil: the list begins.
    var after: LetterName?
    var limit = 100
    private(set) var ids: [LetterName]?
    private var isAll = false

    private static let known =
        "known: destination, logstore, code, after, limit (1 to 1000), ids, all=true"

    init(_ head: RequestHead) throws(HTTPProblem) {
        guard let pairs = head.queryPairs else { throw .query("the query cannot be read") }
        for (name, value) in pairs {
            switch name {
            case "destination": filter.destination = value
            case "logstore": filter.logstore = value
            case "code": filter.code = value
            case "after": after = try Self.letter(name, value, in: 0...Int64.max)
            case "limit": limit = Int(try Self.number(name, value, in: 1...1000))
            case "ids": ids = try Self.letters(name, value)
            case "all" where value == "true": isAll = true
            default: throw .query("\(clipped(name)) is not a parameter here; \(Self.known)")
            }
        }
    }

    /// Checks that the selection of a change is explicit.
    func checkSelection() throws(HTTPProblem) {
        guard ids == nil else {
            guard filter == DeadLetterFilter(), !isAll else {
                throw .query("ids cannot be combined with a filter")
            }
            guard ids?.count ?? 0 <= DeadLetterSelection.idsMax else {
                throw .query(
                    "at most \(DeadLetterSelection.idsMax) ids at a time; use a filter for more"
                )
            }
            return
        }
        guard isAll || filter != DeadLetterFilter() else {
            throw .query(
                "choose letters with ids=1,2,3, a filter (destination, logstore, code), or all=true"
            )
        }
    }

    /// For the audit log.
    var inWords: String {
        if let ids {
            let first = ids.prefix(20).map { "\($0)" }.joined(separator: ", ")
            return ids.count > 20 ? "\(first) and \(ids.count - 20) more" : first
        }
        let parts = [
            ("destination", filter.destination), ("logstore", filter.logstore),
            ("code", filter.code),
        ]
        let given = parts.compactMap { name, value in value.map { "\(name) \(clipped($0))" } }
        return given.isEmpty ? "all" : given.joined(separator: ", ")
    }

    private static func letters(
        _ name: String,
        _ value: String
    ) throws(HTTPProblem) -> [LetterName] {
        var letters: [LetterName] = []
        for part in value.split(separator: ",", omittingEmptySubsequences: false) {
            letters.append(try letter(name, String(part), in: 1...Int64.max))
        }
        return letters
    }

    private static func letter(
        _ name: String,
        _ value: String,
        in range: ClosedRange<Int64>
    ) throws(HTTPProblem) -> LetterName {
        guard let letter = LetterName(value), range.contains(letter.number) else {
            throw .query("\(name) cannot be \(clipped(value)); \(known)")
        }
        return letter
    }

    private static func number(
        _ name: String,
        _ value: String,
        in range: ClosedRange<Int64>
    ) throws(HTTPProblem) -> Int64 {
        guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(value),
            range.contains(number)
        else {
            throw .query("\(name) cannot be \(clipped(value)); \(known)")
        }
        return number
    }
}

extension HTTPProblem {
    fileprivate static func query(_ reason: String) -> HTTPProblem {
        HTTPProblem(400, "ParameterInvalid", reason)
    }
}
