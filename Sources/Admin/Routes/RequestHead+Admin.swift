import HTTP
import Net
import System

extension RequestHead {
    /// True unless the query has `dry=false`. The check of the query refuses other values.
    var isDryReplay: Bool {
        queryPairs?.first { $0.name == "dry" }?.value != "false"
    }

    /// True if the request declares a JSON body.
    var announcesJSON: Bool {
        let type = field("content-type")?.lowercased().prefix { $0 != ";" && $0 != " " }
        return type == "application/json" || type == "application/x-ndjson"
    }
}

extension PeerAddress {
    /// The address, or the /64 of an IPv6 address, because a host chooses the second half freely.
    var neighbourhood: Neighbourhood {
        (address ?? IPAddress(v6: 0, 0)).neighbourhood
    }
}

extension AdminRoute {
    /// Why the query is refused, if it is. An unknown parameter may be a misspelt filter, so it is an error.
    func problem(withQueryOf head: RequestHead) -> HTTPProblem? {
        func problem(_ reason: String) -> HTTPProblem {
            HTTPProblem(400, "ParameterInvalid", reason)
        }
        guard let pairs = head.queryPairs else { return problem("the query cannot be read") }
        let known = queryNames(head.method)
        var seen: Set<String> = []
        for (name, value) in pairs {
            guard known.contains(name) else {
                let rest =
                    known.isEmpty
                    ? "this path has none" : "known: \(known.joined(separator: ", "))"
                return problem("\(clipped(name)) is not a parameter here; \(rest)")
            }
            // A tail may filter by several fields and tags.
            let mayRepeat = self == .tail && (name == "field" || name == "tag")
            guard seen.insert(name).inserted || mayRepeat else {
                return problem("\(name) is given twice")
            }
            if name == "dry", value != "true", value != "false" {
                return problem("dry is true or false, got \(clipped(value))")
            }
        }
        return nil
    }
}
