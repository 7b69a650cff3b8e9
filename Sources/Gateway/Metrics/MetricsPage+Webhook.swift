extension MetricsPage {
    mutating func webhook(_ webhook: WebhookStatus) {
        family(
            "sluice_webhook_events_total",
            .counter,
            "What was to be told to the webhook, by what became of it."
        ) {
            $0.add(webhook.sent, ["result": "sent"])
            $0.add(webhook.failed, ["result": "failed"])
            $0.add(webhook.dropped, ["result": "dropped"])
        }
        family("sluice_webhook_waiting_events", .gauge, "What waits to be told to the webhook.") {
            $0.add(webhook.waiting)
        }
    }
}
