import HTTP

extension MetricsPage {
    mutating func requests(_ answers: [(listener: String, counts: [AnswerCounters.Count])]) {
        family(
            "sluice_http_requests_total",
            .counter,
            "Requests by route and status."
        ) {
            for (listener, counts) in answers {
                for each in counts {
                    $0.add(
                        each.answers,
                        ["listener": listener, "route": each.route, "status": each.status]
                    )
                }
            }
        }
    }

    mutating func changes(_ changes: [(action: String, count: Int)]) {
        family("sluice_admin_changes_total", .counter, "Changes by operators, by action.") {
            for (action, count) in changes { $0.add(count, ["action": action]) }
        }
    }
}
