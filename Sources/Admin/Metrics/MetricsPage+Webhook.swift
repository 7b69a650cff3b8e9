import Operations

extension MetricsPage {
    mutating func webhook(_ webhook: WebhookStatus) {
        family(
            "sluice_webhook_events_total",
            .counter,
            "Messages for the webhook, by result."
        ) {
            $0.add(webhook.sent, ["result": "sent"])
            $0.add(webhook.failed, ["result": "failed"])
            $0.add(webhook.dropped, ["result": "dropped"])
        }
        family("sluice_webhook_waiting_events", .gauge, "Messages that wait for the webhook.") {
            $0.add(webhook.waiting)
        }
    }
}
