import Logs
import System

/// A PutLogs request's target and the facts about its arrival.
struct SignedWrite {
    let logstore: String
    /// Routed by hash key.
    let isRouted: Bool
    let visit: Sandbox.Visit
}

extension Sandbox {
    /// Carries out a PutLogs request, with SLS's order of checks.
    func carryOut(
        _ write: SignedWrite,
        _ request: ReceivedRequest,
        body: UnsafeRawBufferPointer,
        inflater: Inflater
    ) throws(SLSRefusal) {
        let project = try existingProject(of: request)
        try checkFields(of: request, hasBody: !body.isEmpty)
        try authenticate(request, body: body, at: write.visit.now)
        try checkLogstore(write.logstore)
        let lane = try write.isRouted ? request.lane() : nil
        try admit(project, write.logstore, rawBytes: request["x-log-bodyrawsize"])
        let raw = try request.rawBody(body, inflater: inflater, limits: configuration.limits)
        let rules = rules(at: write.visit.now)
        let logs = try LogGroupReader.read(raw, rules: rules)
        try store(
            logs,
            at: LogArchive.Address(
                project: project,
                logstore: write.logstore,
                requestID: write.visit.requestID,
                received: write.visit.now,
                lane: lane
            )
        )
    }

    /// Carries out an unsigned write.
    func track(
        _ logstore: String,
        _ request: ReceivedRequest,
        body: UnsafeRawBufferPointer,
        inflater: Inflater,
        _ visit: Visit
    ) throws(SLSRefusal) {
        let project = try existingProject(of: request)
        let version = request["x-log-apiversion"] ?? request.parameter("APIVersion")
        try checkVersion(version)
        try checkLogstore(logstore)
        try admit(project, logstore, rawBytes: "\(body.count)")
        let raw = try request.rawTrackBody(body, inflater: inflater, limits: configuration.limits)
        let rules = rules(at: visit.now)
        let logs = try TrackReader.read(raw, rules: rules)
        // A page may send a last, empty list when it closes.
        guard !logs.entries.isEmpty else { return }
        try store(
            logs,
            at: LogArchive.Address(
                project: project,
                logstore: logstore,
                requestID: visit.requestID,
                received: visit.now
            )
        )
    }

    private func rules(at now: WallTime) -> LogChecks {
        let poisons = state.withLock { $0.poisons }
        // nil without poisons, because each key of each log is checked.
        let isAny = !poisons.refusals.isEmpty
        return LogChecks(limits: configuration.limits, now: now, poisons: isAny ? poisons : nil)
    }

    private func store(
        _ logs: ReceivedLogs,
        at address: LogArchive.Address
    ) throws(SLSRefusal) {
        let firstDrop = try state.withLock { state throws(SLSRefusal) in
            do {
                if let lane = address.lane,
                    let last = try state.archive.sequence(
                        of: lane.key,
                        address.project,
                        address.logstore
                    ), lane.sequence <= last
                {
                    throw SLSRefusal(
                        400,
                        "InvalidSequenceId",
                        "Sequence id \(lane.sequence) of key \(lane.key) is not after \(last)."
                    )
                }
                let receipt = try state.archive.store(logs, at: address)
                state.statistics.countStored(logs, at: address, receipt)
                defer { if receipt.dropped.logs > 0 { state.hasToldOfDrops = true } }
                return receipt.dropped.logs > 0 && !state.hasToldOfDrops
            } catch let refusal as SLSRefusal {
                throw refusal
            } catch {
                throw SLSRefusal(500, "InternalServerError", "The sandbox cannot store: \(error)")
            }
        }
        late.noteStored()
        if firstDrop {
            journal.warning(
                "sandbox full, dropping oldest logs",
                [
                    "logs_max": configuration.capacity.storedLogsMax,
                    "bytes_max": configuration.capacity.storedBytesMax,
                ]
            )
        }
    }
}

extension ReceivedRequest {
    /// The hash key of a routed write, with the sequence id of an exactly-once write.
    fileprivate func lane() throws(SLSRefusal) -> (key: String, sequence: UInt64)? {
        guard let key = parameter("key") else {
            throw SLSRefusal(400, "MissingParameter", "The parameter key is missing.")
        }
        guard key.utf8.count == 32, key.utf8.allSatisfy({ hexValue($0) != nil }) else {
            throw .badParameter("The hash key \(key) is not 32 hexadecimal digits.")
        }
        guard let text = parameter("seqid") else { return nil }
        guard
            !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }),
            let sequence = UInt64(text)
        else { throw .badParameter("The sequence id \(text) is not a number.") }
        return (key.lowercased(), sequence)
    }
}
