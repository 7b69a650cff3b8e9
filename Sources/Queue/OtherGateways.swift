/// The other gateways of a cluster, which answer questions of operators. What a question is, only those know who ask and
/// answer it.
package protocol OtherGateways: Sendable {
    /// Asks gateways by the names of their nodes, and waits for their answers, at most some seconds. A gateway that gives
    /// none in time is missing.
    func ask(_ nodes: Set<String>, _ question: [UInt8]) -> [String: [UInt8]]

    /// Lets `answer` answer the questions of others. It is called on a thread that must not wait, and answers later, once.
    func answerQuestions(
        by answer: @escaping @Sendable ([UInt8], @escaping @Sendable ([UInt8]) -> Void) -> Void
    )
}
