import HTTP
import Ingest
import JSON
import Operations
import Queue

// The results of changes, as text and as JSON.

extension DeadLetterChange {
    func response(doing work: DeadLetterWork, _ wantsText: Bool) -> Response {
        let done = work.done
        if let refusal = refusal(done) {
            return refusal.response
        }
        guard wantsText else {
            var json = JSONWriter()
            json.object { json in
                json.member(done, changed)
                json.member("unreadable", unreadable)
            }
            return Response(json: json.text + "\n")
        }
        let rest = unreadable > 0 ? ", \(unreadable) are damaged on disk and stay" : ""
        return Response(text: "\(changed) \(done)\(rest)\n")
    }

    private func refusal(_ done: String) -> HTTPProblem? {
        switch end {
        case .complete: nil
        case .refused(let admission):
            HTTPProblem(
                503,
                "ServerBusy",
                "\(changed) \(done), the rest stay dead letters: \(admission.reason ?? "try again")"
            )
        case .busy: .changesWait
        case .tooManyIDs:
            HTTPProblem(
                400,
                "ParameterInvalid",
                "at most \(DeadLetterSelection.idsMax) ids at a time; use a filter for more"
            )
        }
    }
}

extension DeadLetterWork {
    var done: String { self == .replay ? "replayed" : "purged" }
}

extension DeadLetterEditOutcome {
    func response(_ name: LetterName, _ wantsText: Bool) -> Response {
        switch self {
        case .replaced(let letter):
            return wantsText
                ? Response(text: "dead letter \(name) is changed; replay it to deliver it\n")
                : Response(json: DeadLetterText.line(letter, name) + "\n")
        case .notFound: return HTTPProblem.noDeadLetter(name).response
        case .unreadable:
            return HTTPProblem(
                409,
                "DeadLetterUnreadable",
                "dead letter \(name) is damaged on disk; send the whole log to replace it"
            ).response
        case .tooLarge(let bytesMax):
            return HTTPProblem(413, "PostBodyTooLarge", "a log has at most \(bytesMax) bytes")
                .response
        case .otherLogstore(let logstore):
            return HTTPProblem(
                409,
                "ParameterInvalid",
                "the destination delivers only to logstore \(logstore); others need logstore: \"*\" in its settings"
            ).response
        case .refused(let admission): return Refusal(admission).problem.response
        case .busy: return HTTPProblem.changesWait.response
        }
    }
}

extension HTTPProblem {
    fileprivate static let changesWait = HTTPProblem(
        503,
        "ServerBusy",
        "too many changes of dead letters are waiting; try again in a moment"
    )
}
