import JSON
import NATS

/// The answers to the parts of one append. Pure.
struct AppendAnswers {
    private enum Answer: Equatable {
        case stored(UInt64)
        case refused(JetStreamAPI.Refusal)
        case unknown(String)
    }

    private let last: UInt64
    private var answers: [Answer?]

    init(parts: Int, after last: UInt64) {
        self.last = last
        answers = Array(repeating: nil, count: parts)
    }

    /// Takes the answer to the part that the subject's last word numbers.
    mutating func take(_ message: NATSMessage, to subject: String) {
        guard let index = Int(message.subject.dropFirst(subject.utf8.count + 1)),
            answers.indices.contains(index), answers[index] == nil
        else { return }
        guard message.status == nil else {
            answers[index] = .unknown("the stream has no leader at this moment")
            return
        }
        guard let answer = try? JetStreamAPI.document(message) else {
            answers[index] = .unknown("JetStream's answer cannot be read")
            return
        }
        if let refusal = JetStreamAPI.Refusal(answer) {
            answers[index] = .refused(refusal)
        } else if let number = answer["seq"]?.wholeNumber, number > 0 {
            answers[index] = .stored(UInt64(number))
        } else {
            answers[index] = .unknown("JetStream's answer has no sequence")
        }
    }

    /// What the append has come to; nil: answers that matter are missing. The first part that was not stored decides:
    /// later ones were refused because of it, and it may still arrive if its own answer is not known.
    var outcome: AppendAnswer? {
        for (index, answer) in answers.enumerated() {
            switch answer {
            case nil: return nil
            // A duplicate elsewhere would be an earlier append.
            case .stored(let number):
                guard number == last + UInt64(index) + 1 else { return .fenced }
            case .unknown(let text): return .unknown(text)
            case .refused(let refusal):
                if JetStreamAPI.Refusal.wrongLastSequence.contains(refusal.code) { return .fenced }
                let text = "\(refusal.text) (\(refusal.code))"
                return refusal.kind == .noRoom ? .noRoom(text) : .unknown(text)
            }
        }
        return .appended(last + UInt64(answers.count))
    }
}
