package import Configuration
import HTTP
import Ingest
import Operations
import System

extension AdminCall {
    /// `POST /admin/routes/test`. A test changes nothing, so a token for reading is enough, and
    /// there is no entry in the audit log.
    func testRoutes() throws(HTTPProblem) -> Response {
        let configuration = shared.reporter.configuration
        return Response(json: try RouteDesk.answer(body, configuration, makesHashes: isFull))
    }
}

/// What filters and routes do with logs: for `POST /admin/routes/test`, and for `sluice route`
/// without a gateway.
package enum RouteDesk {
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

    fileprivate static func answer(
        _ body: [UInt8],
        _ configuration: GatewayConfiguration,
        makesHashes: Bool
    ) throws(HTTPProblem) -> String {
        let question = try RouteQuestion(json: body)
        let tester = RouteTester(configuration, makesHashes: makesHashes)
        return RouteAnswer(try tester.findings(question)).document
    }
}
