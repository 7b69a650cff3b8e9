import Delivery
import Operations

extension MetricsPage {
    /// What SLS answers, how long that takes, and what follows from it.
    mutating func answers(_ destinations: [GatewayReport.Destination]) {
        family(
            "sluice_delivery_answers_total",
            .counter,
            "Answers by SLS's code: OK, a known code, other, or not_sls for other servers."
        ) {
            for each in destinations {
                let answers = each.delivery.answers.merging(["OK": 0]) { count, _ in count }
                for (code, count) in answers.sorted(by: { $0.key < $1.key }) {
                    $0.add(count, ["destination": each.name, "code": code])
                }
            }
        }
        family(
            "sluice_delivery_pauses_total",
            .counter,
            "Pauses of the destination or a part of it, by reason."
        ) {
            for each in destinations {
                for reason in PauseReason.all {
                    $0.add(
                        each.delivery.pauses[reason] ?? 0,
                        ["destination": each.name, "reason": reason.name]
                    )
                }
            }
        }
        family("sluice_delivery_seconds", .histogram, "Seconds that answered requests took.") {
            for each in destinations { $0.add(each.delivery.latency, of: each.name) }
        }
        family(
            "sluice_delivery_wait_seconds",
            .histogram,
            "From the acceptance of a packet's oldest log until SLS had stored it."
        ) {
            for each in destinations { $0.add(each.delivery.waits, of: each.name) }
        }
    }
}

extension MetricsPage.Samples {
    fileprivate mutating func add(_ histogram: LatencyHistogram, of destination: String) {
        add(
            bounds: histogram.bounds,
            counts: histogram.counts,
            sum: histogram.sum,
            ("destination", destination)
        )
    }
}
