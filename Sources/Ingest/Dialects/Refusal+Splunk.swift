import Logs

extension Refusal {
    static let missingChannel = Refusal(
        400,
        "ChannelMissing",
        "a question about acknowledgements names its channel: X-Splunk-Request-Channel, or channel in the query"
    )

    init(_ fault: SplunkFault) {
        guard fault.cause.kind != .noMemory else {
            self.init(fault.cause)
            return
        }
        let code =
            switch fault.kind {
            case .noData: "NoData"
            case .eventMissing: "EventMissing"
            case .eventBlank: "EventBlank"
            case .fields: "FieldsInvalid"
            case .tooMany: "PostBodyTooLarge"
            case .other: fault.cause.kind == .tooLarge ? "PostBodyTooLarge" : "PostBodyInvalid"
            }
        self.init(
            code == "PostBodyTooLarge" ? 413 : 400,
            code,
            fault.cause.description,
            position: fault.cause.position
        )
        item = fault.event
    }
}
