import Queue

/// Somebody waits for a list of streams.
struct StreamQuestion: Sendable {
    let wish: StreamWish
    let answer: @Sendable (StreamListing?) -> Void

    /// Each walks all streams; more than so many at a time are a mistake.
    static let waitingMax = 8
}

extension QueueOwner {
    func take(_ question: StreamQuestion) {
        guard streamQuestions.count < StreamQuestion.waitingMax else { return question.answer(nil) }
        streamQuestions.append(question)
    }

    /// One a turn, so that whoever asks all the time holds up nobody for long.
    func listStreams() {
        guard let question = streamQuestions.popFirst() else { return }
        question.answer(store?.listing(question.wish))
    }

    func refuseStreams() {
        while let question = streamQuestions.popFirst() { question.answer(nil) }
    }
}
