/// The other gateways of a cluster, which answer questions of operators. What a question is, only
/// those know who ask and answer it.
package protocol OtherGateways: Sendable {
    /// Asks gateways by the names of their nodes, and waits so long for their answers. A gateway
    /// that gives none in time is missing. One that is not there at all takes less time.
    func ask(
        _ nodes: Set<String>,
        _ question: [UInt8],
        atMost patience: Duration
    ) -> [String: [UInt8]]

    /// Ends all questions that wait for answers, and lets none begin.
    func stopAsking()

    /// Lets the answerer answer the questions of others.
    func answerQuestions(by answerer: @escaping QuestionAnswerer)
}

/// Takes a question, and the function to call with its answer, once. It is called on a thread that
/// must not wait.
package typealias QuestionAnswerer =
    @Sendable (
        _ question: [UInt8], _ reply: @escaping @Sendable ([UInt8]) -> Void
    ) -> Void
