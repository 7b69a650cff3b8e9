import System

/// Counts answers by route and status. Both sets are small and fixed, so each pair has its own
/// counter, and a request costs one addition.
package final class AnswerCounters: Sendable {
    package struct Count: Sendable, Equatable {
        package let route: String
        package let status: String
        package let answers: Int
    }

    /// The statuses that this program sends; any other counts as "other".
    static let statuses = [
        200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413, 414,
        415,
        416, 417, 422,
        428, 429, 431, 500, 501, 502, 503, 504, 505, 507,
    ]
    private static let names = statuses.map { "\($0)" } + ["other"]
    /// The index of each status's counter, by status.
    private static let places: [UInt8] = (0..<600).map { status in
        UInt8(statuses.firstIndex(of: status) ?? statuses.count)
    }

    private let labels: [String]
    private let counts: CounterList

    /// `Response.label` is an index into the labels; the first label serves answers without one.
    package init(labels: [String]) {
        self.labels = labels
        counts = CounterList(count: labels.count * Self.names.count)
    }

    package func count(_ response: Response) {
        let isKnown = Self.places.indices.contains(response.status)
        let place = isKnown ? Int(Self.places[response.status]) : Self.statuses.count
        let label = labels.indices.contains(response.label) ? response.label : 0
        counts.add(1, at: label * Self.names.count + place)
    }

    /// Statuses that alerts watch are shown from the start: an increase is visible only from 0 on.
    private static let shownAlways: Set = ["200", "401", "429", "500", "503"]

    /// For each route, the statuses that alerts watch and all others that occurred.
    package var all: [Count] {
        labels.enumerated().flatMap { label, route in
            Self.names.enumerated().compactMap { place, status in
                let answers = counts[label * Self.names.count + place]
                guard answers > 0 || Self.shownAlways.contains(status) else { return nil }
                return Count(route: route, status: status, answers: answers)
            }
        }
    }
}
