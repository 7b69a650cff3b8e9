import SLS
import System
import Testing

@testable import Delivery
@testable import HTTPClient

/// A failed address of a host that has others.
@Suite struct OtherAddressTests {
    private let now = Moment(nanoseconds: 1_000_000_000_000)

    private func refused() -> Judgement {
        Judge.judge(TransportProblem(.couldNotConnect, detail: "refused"))
    }

    @Test("It moves no gate, and leads to no other endpoint")
    func endpointStays() throws {
        var settings = try Samples.destination(port: 1)
        settings.sls.endpoints = try ["http://127.0.0.1:1", "http://127.0.0.1:2"].map {
            try Endpoint(parsing: $0)
        }
        var endpoints = DestinationEndpoints(settings, EndpointStates(), places: 4)
        let first = endpoints.current
        for _ in 0..<5 {
            let change = endpoints.ended(
                first,
                refused().atAnotherAddress,
                after: .seconds(6),
                now
            )
            #expect(change == nil)
        }
        for scope in [GateScope.endpoint, .project, .logstore] {
            let verdict = refused().atAnotherAddress.verdict(for: scope, isPacketAtFault: false)
            #expect(verdict == Gate.Verdict.none)
        }
        // The last address that fails is the endpoint's.
        #expect(endpoints.ended(first, refused(), after: .seconds(6), now) != nil)
    }

    @Test("An answer stays what it is")
    func answers() {
        let answer = SLSAnswer(status: 500, headers: [], body: [])
        let judgement = Judge.judge(answer)
        #expect(judgement.atAnotherAddress.action == judgement.action)
    }
}
