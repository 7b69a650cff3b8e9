package import System

/// One capture that an operator started. It ends by itself when it has enough, or when its time is
/// over.
package final class CaptureSession: Sendable {
    package struct Limits: Sendable, Equatable {
        package static let recordsMax = 1000
        package static let bytesMost = 64 << 20
        package static let timeMax: Duration = .seconds(3600)

        package var records = 100
        package var bytes = 8 << 20
        package var time: Duration = .seconds(600)

        package init() {}
    }

    package enum State: String, Sendable, CaseIterable {
        case running
        /// It has as many records or bytes as it may.
        case full
        /// Its time is over.
        case ended
        case stopped
    }

    package struct Status: Sendable {
        package let state: State
        package let kept: Int
        package let keptBytes: Int
        /// Requests that the filter admitted.
        package let matched: Int
        /// The part of them that found no room.
        package var missed: Int { matched - kept }
    }

    private struct Content {
        var records: [CaptureRecord] = []
        var matched = 0
        var state = State.running
    }

    package let id: String
    package let filter: CaptureFilter
    package let limits: Limits
    /// Who started it.
    package let actor: String
    package let started: WallTime
    /// The bytes of its records.
    let budget: CaptureBudget
    /// What the filter looks for in a body.
    let text: [UInt8]?
    private let end: Moment
    private let content = Locked(Content())

    init(
        _ id: String,
        _ filter: CaptureFilter,
        _ limits: Limits,
        by actor: String,
        within common: CaptureBudget? = nil
    ) {
        self.id = id
        self.filter = filter
        self.limits = limits
        self.actor = actor
        budget = CaptureBudget(bytesMax: limits.bytes, within: common)
        text = filter.text.map { Array($0.utf8) }
        started = .now
        end = .now + limits.time
    }

    package var ends: WallTime { started + limits.time }

    package var isRunning: Bool { isRunning(at: .now) }

    func isRunning(at now: Moment) -> Bool {
        now < end && content.withLock(\.state) == .running
    }

    package var status: Status {
        content.withLock { content in
            if content.state == .running, Moment.now >= end { content.state = .ended }
            return Status(
                state: content.state,
                kept: content.records.count,
                keptBytes: budget.used,
                matched: content.matched
            )
        }
    }

    package var records: [CaptureRecord] { content.withLock(\.records) }

    package func record(_ number: Int) -> CaptureRecord? {
        content.withLock { content in
            content.records.indices.contains(number - 1) ? content.records[number - 1] : nil
        }
    }

    package func stop() {
        content.withLock { if $0.state == .running { $0.state = .stopped } }
    }

    /// Stops it and forgets its records.
    func forget() {
        stop()
        content.withLock { $0.records = [] }
    }

    /// Counts a request that there was no memory to keep.
    func countMissed() {
        content.withLock { if $0.state == .running { $0.matched += 1 } }
    }

    /// Keeps the record, with a number, while there is room. False: it is not kept.
    func keep(_ record: CaptureRecord) -> Bool {
        guard isRunning else { return false }
        return content.withLock { content in
            guard content.state == .running else { return false }
            content.matched += 1
            guard budget.take(record.weight) else {
                content.state = .full
                return false
            }
            var record = record
            record.number = content.records.count + 1
            content.records.append(record)
            if content.records.count >= limits.records { content.state = .full }
            return true
        }
    }
}
