import Logs
import Routing

/// Measures filters alone, on one thread: five small steps on logs of four fields, and the
/// redaction of email addresses in a field of 60 bytes.
func runFilter(seconds: Double) {
    let steps: [FilterStep] = [
        FilterStep(.add([Assignment(field: "app", value: template("shop"))])),
        FilterStep(.rename([Renaming(from: "uid", to: "user_id")])),
        FilterStep(.remove([FieldPattern("password")])),
        FilterStep(.drop, when: .field("path", .isOneOf(["/health"]))),
        FilterStep(
            .sample(Sampling(keep: 500_000, by: "uid")),
            when: .field("level", .isOneOf(["debug"]))
        ),
    ]
    var random = SplitMix(state: 4)
    let small = logs { _ in
        [
            (key: "level", value: random.pick(["debug", "info", "info", "warn"])),
            (key: "path", value: random.pick(["/cart", "/search", "/health", "/pay"])),
            (key: "uid", value: random.hex(12)), (key: "msg", value: "opened the product page"),
        ]
    }
    measure("filter_five_steps", steps, on: small, seconds)

    let email = Redaction(fields: [FieldPattern("msg")], .known(.email), with: .mask)
    let redacted = logs { number in
        let text = number % 2 == 0 ? "person.name@example.com" : "a text without an address"
        return [(key: "msg", value: "the user \(text) opened the product page")]
    }
    measure("filter_redact_email", [FilterStep(.redact(email))], on: redacted, seconds)
}

private func template(_ text: String) -> Template {
    guard let template = try? Template(text) else { fatalError("no template: \(text)") }
    return template
}

private func logs(_ fields: (Int) -> [(key: String, value: String)]) -> EncodedLogs {
    var logs = EncodedLogs()
    for number in 0..<100 {
        logs.append(time: LogTime(seconds: 1_700_000_000), fields: fields(number))
    }
    return logs
}

private func measure(
    _ name: String,
    _ steps: [FilterStep],
    on logs: EncodedLogs,
    _ seconds: Double
) {
    var rules = RoutingRules()
    rules.filters = [Filter(name: name, steps: steps)]
    guard let router = try? Router(rules) else { fatalError("the filter is none") }
    let plans = TagPlans(router)
    let filter = LogFilter(router, plans)
    let plan = plans.plan(for: "app")
    filter.begin(SenderText(), logBytes: logs.bytes.count)
    measure(name, seconds) {
        guard let result = try? filter.apply(to: logs, plan), result.dead.isEmpty else {
            fatalError("the logs are not readable")
        }
        return (logs.count, logs.bytes.count)
    }
}
