import Queue

/// A request for a list of streams.
struct StreamQuestion: Sendable {
    let wish: StreamWish
    let answer: @Sendable (StreamListing?) -> Void

    /// Each question walks over all streams. More of them at a time are a mistake.
    static let waitingMax = 8
}

/// The questions that wait.
struct StreamQuestions {
    private var waiting = Fifo<StreamQuestion>()

    var isEmpty: Bool { waiting.isEmpty }

    mutating func add(_ question: StreamQuestion) {
        guard waiting.count < StreamQuestion.waitingMax else { return question.answer(nil) }
        waiting.append(question)
    }

    /// Answers one question a turn, so that a caller who asks all the time does not hold up other
    /// work.
    mutating func answerOne(from store: OpenStore?) {
        guard let question = waiting.popFirst() else { return }
        question.answer(store?.listing(question.wish))
    }

    mutating func refuse() {
        while let question = waiting.popFirst() { question.answer(nil) }
    }
}
