import HTTP
import Net
import System

extension RequestHead {
    /// True unless the query has `dry=false`. The check of the query refuses other values.
    var isDryReplay: Bool { parameter("dry") != "false" }

    /// True if the request declares a JSON body.
    var announcesJSON: Bool {
        let type = field("content-type")?.lowercased().prefix { $0 != ";" && $0 != " " }
        return type == "application/json" || type == "application/x-ndjson"
    }

    /// The value of a parameter; `AdminRoute.problem(withQueryOf:)` has checked the names.
    func parameter(_ name: String) -> String? {
        queryPairs?.first { $0.name == name }?.value
    }

    /// The same for a number, which has only digits.
    func number(_ name: String, _ range: ClosedRange<Int>) throws(HTTPProblem) -> Int? {
        guard let value = parameter(name) else { return nil }
        guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(value),
            range.contains(number)
        else {
            let most = range.upperBound == .max ? "more" : "\(range.upperBound)"
            throw .query(
                "\(name) cannot be \(clipped(value)); it is \(range.lowerBound) to \(most)"
            )
        }
        return number
    }
}

extension PeerAddress {
    /// The address, or the /64 of an IPv6 address, because a host chooses the second half freely.
    var neighbourhood: Neighbourhood {
        (address ?? IPAddress(v6: 0, 0)).neighbourhood
    }
}
