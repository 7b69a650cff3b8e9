import HTTP
import JSON

/// An answer in Splunk's form: a status, a code, and Splunk's text for the code. Ours adds a
/// reason.
struct SplunkAnswer {
    let status: Int
    let code: Int
    let text: String
    var reason: String?
    /// The index of the event at fault.
    var event: Int?
    /// The id with which the client asks whether its events are safe.
    var acknowledgement: AcknowledgementID?

    init(_ status: Int, _ code: Int, _ text: String) {
        (self.status, self.code, self.text) = (status, code, text)
    }

    init(_ refusal: Refusal, hasAuthorization: Bool) {
        let known: (status: Int?, code: Int, text: String) =
            switch (refusal.code, refusal.status) {
            case ("NoData", _): (nil, 5, "No data")
            case ("EventMissing", _): (nil, 12, "Event field is required")
            case ("EventBlank", _): (nil, 13, "Event field cannot be blank")
            case ("FieldsInvalid", _): (nil, 15, "Error in handling indexed fields")
            case ("ChannelMissing", _): (nil, 10, "Data channel is missing")
            // Splunk does not use 404 for it.
            case ("IndexInvalid", _), (_, 404): (400, 7, "Incorrect index")
            case _ where refusal == AccessProblem.missingKey.refusal:
                hasAuthorization
                    ? (401, 3, "Invalid authorization") : (401, 2, "Token is required")
            case (_, 401), (_, 403): (403, 4, "Invalid token")
            case (_, 413): (nil, 27, "Request entity too large")
            case (_, 429), (_, 503): (nil, 9, "Server is busy")
            case (_, 405): (nil, 404, "The requested URL was not found on this server.")
            case (_, 500...): (nil, 8, "Internal server error")
            default: (nil, 6, "Invalid data format")
            }
        self.init(known.status ?? refusal.status, known.code, known.text)
        reason = refusal.reason
        event = refusal.item
    }

    var response: Response {
        var json = JSONWriter()
        json.object { json in
            json.member("text", text)
            json.member("code", code)
            if let event { json.member("invalid-event-number", event) }
            if let acknowledgement { json.member("ackId", acknowledgement.number) }
            if let reason { json.member("reason", reason) }
        }
        return Response(status: status, contentType: "application/json", text: json.text)
    }
}
