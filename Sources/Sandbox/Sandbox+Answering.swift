import HTTP
import System

extension Sandbox {
    /// Turns a request's outcome into its answer, with the effects of all faults.
    func finish(_ visit: Visit, _ outcome: Result<AnswerContent, SLSRefusal>) -> Answer {
        let mishap = visit.mishap
        var response: Response
        var code: String?
        switch (mishap.answer, outcome) {
        case (.page(let status, let type, let body), _):
            response = Response(status: status, contentType: type, text: body)
        case (.refusal(let refusal), _), (_, .failure(let refusal)):
            code = refusal.code
            response = Response(
                status: refusal.status,
                fields: [("content-type", "application/json")],
                body: visit.resolver.map(refusal.body(for:)) ?? refusal.body
            )
        case (_, .success(let content)):
            response = Response(status: 200, body: content.body)
            if !content.body.isEmpty {
                response.fields.append(("content-type", content.type))
            }
        }
        if mishap.padding > 0 { response.body += repeatElement(0x20, count: mishap.padding) }
        stamp(&response, visit)
        breakOff(&response, mishap.answer)
        count(response.status, code, mishap)
        let delivery: Answer.Delivery =
            if let holder = mishap.holder {
                .whenReleased(holder)
            } else if mishap.latency > .zero {
                .after(mishap.latency)
            } else {
                .now
            }
        return Answer(response: response, delivery: delivery)
    }

    private func stamp(_ response: inout Response, _ visit: Visit) {
        response.fields.append(("server", "sluice-sandbox"))
        response.fields.append(("date", SignedDate.text(of: visit.now)))
        response.fields.append(("access-control-allow-origin", "*"))
        if visit.resolver == nil {
            response.fields.append(("x-log-time", "\(visit.now.seconds)"))
        }
        if let wait = visit.mishap.retryAfter {
            response.fields.append(("retry-after", "\(wait.components.seconds)"))
        }
        guard visit.resolver == nil, !visit.mishap.withoutRequestID else { return }
        // A captive portal sends no request id.
        if case .page = visit.mishap.answer { return }
        response.fields.append(("x-log-requestid", visit.requestID))
    }

    private func breakOff(_ response: inout Response, _ answer: Fault.Answer?) {
        switch answer {
        case .reset: response.breaks = .beforeAnswer
        case .truncate:
            // A success has an empty body, which cannot be cut.
            if response.body.isEmpty { response.body = [UInt8](repeating: 0x20, count: 64) }
            response.breaks = .afterBody(bytes: response.body.count / 2)
        default: break
        }
    }

    private func count(_ status: Int, _ code: String?, _ mishap: Mishap) {
        state.withLock { state in
            switch mishap.answer {
            case .reset: break
            default: state.statistics.countAnswer(status, error: code)
            }
            if let answer = mishap.answer { state.statistics.countMishap(answer.name) }
            if mishap.latency > .zero { state.statistics.countMishap("latency") }
            if mishap.clockOffset != .zero { state.statistics.countMishap("clock_offset") }
            if mishap.withoutRequestID { state.statistics.countMishap("without_request_id") }
        }
    }
}
