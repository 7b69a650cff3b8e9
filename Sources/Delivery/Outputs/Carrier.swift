import HTTPClient
import System

/// Does the work of a destination, and tells how each piece of it ended. All calls come from the
/// delivery thread.
protocol Carrier: AnyObject {
    /// No work is under way.
    var isIdle: Bool { get }

    /// The delivery thread begins.
    func begin(on loop: TransferLoop)

    /// Starts the work, and returns how many bytes of it stay in memory until it ends. `whenDone`
    /// is called once on the delivery thread, never from here, and not after `abandon`.
    func start(
        _ work: CarrierWork,
        on loop: TransferLoop,
        whenDone: @escaping (CarriedWork) -> Void
    ) -> Int

    /// Calls `whenDone` of work that has ended on another thread; returns how much there was.
    func finishEnded() -> Int

    /// The settings have changed, so new work is done with these.
    func use(_ settings: DestinationSettings, _ now: Moment)

    /// The addresses of hosts have changed, maybe of one that work waits for. Returns true if a
    /// host that had no address, or none that worked, has another one.
    func addressesChanged(on loop: TransferLoop) -> Bool

    /// Gives up what is under way.
    func abandon(_ loop: TransferLoop)
}

/// What an output makes of a packet.
enum CarrierWork {
    case request(TransferRequest)
    /// Whole lines.
    case lines([UInt8])
}

/// How a piece of work ended.
enum CarrierOutcome {
    case request(TransferOutcome)
    /// nil: the lines are safe.
    case lines(WriteProblem?)
}

extension CarrierOutcome {
    /// nil: no connection was used.
    var route: TransferRoute? {
        if case .request(let outcome) = self { outcome.route } else { nil }
    }
}

/// A piece of work that has ended.
struct CarriedWork {
    let outcome: CarrierOutcome
    let started: Moment
    let bytes: Int
    /// Something of it may have arrived, whatever the outcome says.
    let isTaken: Bool
    /// It was done again because an earlier try had no outcome.
    let isRepeated: Bool
    /// No connection could be made, and the host has another address that may do better.
    var hasOtherAddress = false
}

extension Carrier {
    func addressesChanged(on loop: TransferLoop) -> Bool { false }
}
