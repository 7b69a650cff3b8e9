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

    init(_ head: RequestHead) throws(HTTPProblem) {
        filter.destination = head.parameter("destination")
        filter.logstore = head.parameter("logstore")
        filter.code = head.parameter("code")
        after = try head.parameter("after").map { value throws(HTTPProblem) in
            try Self.letter("after", value, from: 0)
        }
        limit = try head.number("limit", 1...1000) ?? 100
        ids = try head.parameter("ids").map { value throws(HTTPProblem) in
            var letters: [LetterName] = []
            for part in value.split(separator: ",", omittingEmptySubsequences: false) {
                letters.append(try Self.letter("ids", String(part), from: 1))
            }
            return letters
        }
        guard let all = head.parameter("all") else { return }
        guard all == "true" else { throw .query("all cannot be \(clipped(all)); it is true") }
        isAll = true
    }

    private static func letter(
        _ name: String,
        _ value: String,
        from least: Int64
    ) throws(HTTPProblem) -> LetterName {
        guard let letter = LetterName(value), letter.number >= least else {
            throw .query("\(name) cannot be \(clipped(value)); lists show the ids of dead letters")
        }
        return letter
    }

    /// Checks that the selection of a change is explicit.
    func checkSelection() throws(HTTPProblem) {
        guard ids == nil else {
            guard filter == DeadLetterFilter(), !isAll else {
                throw .query("ids cannot be combined with a filter")
            }
            guard ids?.count ?? 0 <= DeadLetterSelection.idsMax else {
                throw .tooManyIDs
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
}
