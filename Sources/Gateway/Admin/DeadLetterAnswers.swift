import HTTP
import JSON
import Queue

// What became of a change, for people and for scripts.

extension DeadLetterChange {
    func response(doing verb: String, _ wantsText: Bool) -> Response {
        let done = verb == "replay" ? "replayed" : "purged"
        if let refusal = refusal(done) {
            return ErrorShape.plain.response(refusal)
        }
        guard wantsText else {
            var json = JSONWriter()
            json.object { json in
                json.member(done, changed)
                json.member("unreadable", unreadable)
            }
            return Response(json: json.text + "\n")
        }
        let rest = unreadable > 0 ? ", \(unreadable) changed on the disk and stay" : ""
        return Response(text: "\(changed) \(done)\(rest)\n")
    }

    private func refusal(_ done: String) -> Refusal? {
        switch end {
        case .complete: nil
        case .refused(let admission):
            Refusal(
                503,
                "ServerBusy",
                "\(changed) \(done), the rest stay dead letters: \(admission.reason ?? "try again")"
            )
        case .busy: .changesWait
        case .tooManyIDs:
            Refusal(
                400,
                "ParameterInvalid",
                "at most \(DeadLetterSelection.idsMax) ids at a time; use a filter for more"
            )
        }
    }
}

extension DeadLetterEditOutcome {
    func response(_ id: Int64, _ wantsText: Bool) -> Response {
        switch self {
        case .replaced(let letter):
            return wantsText
                ? Response(text: "dead letter \(id) is changed; replay it to deliver it\n")
                : Response(json: DeadLetterText.line(letter) + "\n")
        case .notFound: return ErrorShape.plain.response(.noDeadLetter(id))
        case .unreadable:
            return ErrorShape.plain.response(
                Refusal(
                    409,
                    "DeadLetterUnreadable",
                    "dead letter \(id) changed on the disk; send the whole log to replace it"
                )
            )
        case .tooLarge(let bytesMax):
            return ErrorShape.plain.response(
                Refusal(413, "PostBodyTooLarge", "a log has at most \(bytesMax) bytes")
            )
        case .otherLogstore(let logstore):
            return ErrorShape.plain.response(
                Refusal(
                    409,
                    "ParameterInvalid",
                    "its destination delivers to \(logstore) alone; only one with logstore: \"*\" has others"
                )
            )
        case .refused(let admission): return ErrorShape.plain.response(Refusal(admission))
        case .busy: return ErrorShape.plain.response(.changesWait)
        }
    }
}

extension Refusal {
    fileprivate static let changesWait = Refusal(
        503,
        "ServerBusy",
        "too many changes of dead letters wait already; try again in a moment"
    )
}
