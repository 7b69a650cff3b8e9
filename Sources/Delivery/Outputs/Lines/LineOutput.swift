import Logs
import Queue
import SLS
import System

/// Makes lines of JSON for a writer (`LineWriter`), and judges what became of them.
struct LineOutput: Output {
    let settings: DestinationSettings
    private let shape: LogJSON.Shape

    init(_ settings: DestinationSettings, _ shape: LogJSON.Shape) {
        self.settings = settings
        self.shape = shape
    }

    func bodyBytesMax(of lease: Lease) -> Int { jsonBytes(of: lease.packet) }

    func work(
        for packet: SealedPacket,
        _ blocks: [StoredBlock],
        to endpoint: EndpointKey,
        by credential: Credential?,
        at time: WallTime
    ) throws(Unsendable) -> CarrierWork {
        .lines(try json(of: packet, blocks, as: shape, .lines))
    }

    func judge(
        _ outcome: CarrierOutcome,
        of attempt: Attempt,
        by credential: Credential?
    ) -> Judgement {
        guard case .lines(let problem) = outcome else {
            preconditionFailure("this output's carrier is another one")
        }
        return problem.map(Judgement.init) ?? .written
    }
}

extension Judgement {
    fileprivate static let written = Judgement(
        action: .acknowledge,
        kind: .other,
        result: .ok,
        message: "written",
        remedy: "none needed",
        traits: .answered
    )

    /// Nothing goes to the destination until a single packet gets through.
    fileprivate init(_ problem: WriteProblem) {
        self.init(
            action: .pause(.project),
            kind: .write,
            result: .writeError,
            code: problem.code,
            message: problem.message,
            remedy: problem.remedy
        )
    }
}
