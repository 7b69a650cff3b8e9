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
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) {
        let bytes = Array(body)
        views.post(answering: responder, orWhenFull: .tooManyViews) {
            [reporter] () throws(HTTPProblem) in
            let text = try Self.answer(
                bytes,
                reporter.configuration,
                makesHashes: holder.role == .full
            )
            responder.send(Response(json: text))
        }
    }

    /// `sluice route --config`: the answer, or the problem in one sentence.
    package static func offline(
        _ body: [UInt8],
        _ configuration: GatewayConfiguration
    ) -> (isFine: Bool, text: String) {
        do throws(HTTPProblem) {
            let text = try answer(body, configuration, makesHashes: true)
            return (true, text)
        } catch {
            return (false, "\(error.message) (\(error.code))")
        }
    }

    private static func answer(
        _ body: [UInt8],
        _ configuration: GatewayConfiguration,
        makesHashes: Bool
    ) throws(HTTPProblem) -> String {
        let question = try RouteQuestion(json: body)
        let tester = RouteTester(configuration, makesHashes: makesHashes)
        return RouteAnswer(try tester.findings(question)).document
    }
}
