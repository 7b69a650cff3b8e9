import HTTP
import System

extension AdminRoute {
    /// Why the query cannot be meant: a parameter that means nothing here would be a wish that nobody hears.
    func problem(withQueryOf head: RequestHead) -> HTTPProblem? {
        func problem(_ reason: String) -> HTTPProblem {
            HTTPProblem(400, "ParameterInvalid", reason)
        }
        guard let pairs = head.queryPairs else { return problem("the query cannot be read") }
        let known = queryNames(head.method)
        var seen: Set<String> = []
        for (name, _) in pairs {
            guard known.contains(name) else {
                let rest =
                    known.isEmpty
                    ? "no parameter does" : "known here: \(known.joined(separator: ", "))"
                return problem("\(clipped(name)) means nothing here; \(rest)")
            }
            // A log may be asked for by several of its fields.
            let mayRepeat = self == .tail && (name == "field" || name == "tag")
            guard seen.insert(name).inserted || mayRepeat else {
                return problem("\(name) is given twice")
            }
        }
        return nil
    }
}
