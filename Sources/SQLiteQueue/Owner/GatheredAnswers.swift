import Queue
import System

/// The outcomes of a commit. Each thread gets its own in one callback, so that it wakes once.
struct GatheredAnswers {
    private typealias Answer = (request: any AppendingRequest, outcome: AppendOutcome)

    private var threads: [(thread: any CallbackThread, answers: [Answer])] = []

    /// Adds an outcome. A request without a thread gets it at once.
    mutating func add(_ outcome: AppendOutcome, to request: any AppendingRequest) {
        guard let thread = request.thread else { return request.decided(outcome) }
        // There are as many threads as cores.
        if let index = threads.firstIndex(where: { $0.thread === thread }) {
            threads[index].answers.append((request, outcome))
        } else {
            threads.append((thread, [(request, outcome)]))
        }
    }

    /// Gives all outcomes to their threads.
    consuming func give() {
        for (thread, answers) in threads {
            thread.run { for (request, outcome) in answers { request.decided(outcome) } }
        }
    }
}
