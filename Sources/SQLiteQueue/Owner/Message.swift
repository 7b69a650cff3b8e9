import Logs
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

/// The batches of one request. The queue stores all required ones or none.
struct Append: Sendable {
    let request: any AppendingRequest
    private(set) var batches: [Batch]
    /// Bytes of the logs, of their streams, and of the identity.
    private(set) var rawBytes: Int
    /// Set if the append was refused at once because too much waits.
    private(set) var refusal: QueueAdmission?

    init(_ batches: [Batch], of request: any AppendingRequest) {
        self.request = request
        self.batches = batches
        let span = batches.span
        // A tiny batch may name a large stream, and both wait. Each dead log becomes a row.
        rawBytes = span.indices.reduce(request.identity?.cost ?? 0) { sum, index in
            sum + span[index].logs.bytes.count + DeadLetterBook.mostDead(span[index])
                + span[index].stream.cost
        }
    }

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
