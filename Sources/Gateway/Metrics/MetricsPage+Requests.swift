extension MetricsPage {
    mutating func requests(_ answers: [(listener: String, counts: [AnswerCounters.Count])]) {
        family(
            "sluice_http_requests_total",
            .counter,
            "Requests by route and by the status that they were answered with."
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
        family("sluice_admin_changes_total", .counter, "What operators changed, by action.") {
            for (action, count) in changes { $0.add(count, ["action": action]) }
        }
    }
}
