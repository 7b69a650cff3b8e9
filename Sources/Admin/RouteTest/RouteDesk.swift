package import Configuration
import HTTP
import Ingest
import Operations
import System

/// Answers `POST /admin/routes/test`, and `sluice route` without a gateway. A test changes nothing, so a token for
/// reading is enough, and there is no entry in the audit log.
package struct RouteDesk {
    let reporter: Reporter
    /// The thread for long reads: filters may take a while for a large body.
    let views: SerialWorker

    func test(
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) {
        let (bytes, wantsText) = (Array(body), head.wantsText)
        views.post(answering: responder, orWhenFull: .tooManyViews) {
            [reporter] () throws(HTTPProblem) in
            let text = try Self.answer(
                bytes,
                reporter.configuration,
                wantsText: wantsText,
                makesHashes: holder.role == .full
            )
            responder.send(wantsText ? Response(text: text) : Response(json: text))
        }
    }

    /// `sluice route --config`: the answer, or the problem in one sentence.
    package static func offline(
        _ body: [UInt8],
        _ configuration: GatewayConfiguration,
        asText: Bool
    ) -> (isFine: Bool, text: String) {
        do throws(HTTPProblem) {
            let text = try answer(body, configuration, wantsText: asText, makesHashes: true)
            return (true, text)
        } catch {
            return (false, "\(error.message) (\(error.code))")
        }
    }

    private static func answer(
        _ body: [UInt8],
        _ configuration: GatewayConfiguration,
        wantsText: Bool,
        makesHashes: Bool
    ) throws(HTTPProblem) -> String {
        let question = try RouteQuestion(json: body)
        let tester = RouteTester(configuration, makesHashes: makesHashes)
        let answer = RouteAnswer(try tester.findings(question))
        return wantsText ? answer.text : answer.document
    }
}
