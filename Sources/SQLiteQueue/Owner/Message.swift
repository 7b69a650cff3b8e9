import Queue
import System

/// The requests of other threads to the owner.
enum Message: Sendable {
    case append(Append)
    case delivery(DeliveryRequest)
    /// A packet of delivery whose content is damaged.
    case unreadable(Int64)
    case letters(LetterRequest)
    case decision(DecisionRequest)
    case list(StreamQuestion)
    case shard(ShardRequest)
    case apply([String: DestinationRules], QueueBounds?)
    case stop
}

/// The batches of one call. The queue stores all required ones or none.
struct Append: Sendable {
    private(set) var batches: [Batch]
    let identity: BatchIdentity?
    /// The device key of the request. Nil is a device without a key.
    let sender: String?
    let tally: IntakeTally
    /// Bytes of the logs, of their streams, and of the identity.
    private(set) var rawBytes: Int
    /// The thread that answers; nil is the owner's.
    let thread: (any CallbackThread)?
    let answer: @Sendable (AppendOutcome) -> Void
    /// Set if the append was refused at once because too much waits.
    private(set) var refusal: QueueAdmission?

    /// Compresses the batches that need no others for a good row.
    mutating func compress(_ packer: RowPacker) {
        // A change copies the batches, which their sender still has.
        guard batches.contains(where: { packer.fillsRow($0.logs) }) else { return }
        for index in batches.indices {
            batches[index].rows = packer.compressAlone(batches[index].logs)
        }
    }

    /// Refuses the append. Its place in the order stays for the answer; its logs go.
    mutating func refuse(_ admission: QueueAdmission) {
        batches = []
        rawBytes = 0
        refusal = admission
    }
}

struct StreamQuestion: Sendable {
    let wish: StreamWish
    let answer: @Sendable (StreamListing?) -> Void

    /// Each question walks over all streams. More of them at a time are a mistake.
    static let waitingMax = 8
}

struct StreamQuestions {
    private var waiting = Fifo<StreamQuestion>()

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ question: StreamQuestion) {
        guard waiting.count < StreamQuestion.waitingMax else { return question.answer(nil) }
        waiting.append(question)
    }

    /// Answers one question a turn, so that a busy caller does not hold up other work.
    mutating func answerOne(from store: OpenStore?) {
        guard let question = waiting.popFirst() else { return }
        question.answer(store?.listing(question.wish))
    }

    mutating func refuse() {
        while let question = waiting.popFirst() { question.answer(nil) }
    }
}
